//! Images compared with the reference model of `ze_tests::image_model`.

mod formats;
mod handles;
mod samples;
mod support;
