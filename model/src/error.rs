//! Of the driver's errors, those that the modelled files name.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not ready")]
    NotReady,
    #[error("{0}")]
    DeviceLost(String),
    #[error("{0}")]
    InvalidSynchronizationObject(&'static str),
    #[error("{0}")]
    Unknown(String),
}
