//! Images as compiled code sees them: formats, descriptors and samplers.
//!
//! | file | what |
//! |---|---|
//! | `format` | the one table of texel formats: fields, conversions, planes, what queries say |
//! | `descriptor` | [`ImageDescriptor`]: an image in memory, as compiled code reads it |
//! | `sampler` | [`Sampler`]: addressing and filtering, packed into 64 bits |
//! | `slots` | [`Slot`]: where the descriptors of live images are |
//!
//! A kernel argument that is an image is the 64-bit address of a live [`ImageDescriptor`] (null reads as
//! [`descriptor::empty`]); one that is a sampler is [`Sampler::bits`]. A bindless handle of an image is the address of
//! its descriptor as well; one of a sampled image is the address of a descriptor whose `sampler` is set; one of a sampler is
//! [`Sampler::bits`].

pub mod descriptor;
pub mod format;
pub mod sampler;
pub mod slots;

pub use descriptor::{ImageDescriptor, ImageParts, MAX_LEVELS, MipLevel, empty};
pub use format::{ChannelType, Format, Layout, Source, Swizzle};
pub use sampler::{Addressing, Border, Filter, Sampler};
pub use slots::Slot;
