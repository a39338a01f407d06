//! Standard output as the program's own `printf` sees it.

/// C stdio's `stdout`, locked: what the program prints comes before or behind all that is written here.
///
/// What stdio has buffered is written first, and our text past its buffer: a child that is forked meanwhile has no
/// copy of it to write again.
pub struct Output {
    stream: *mut libc::FILE,
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    fn flockfile(stream: *mut libc::FILE);
    fn funlockfile(stream: *mut libc::FILE);
}

impl Output {
    pub fn lock() -> Output {
        // SAFETY: the C library's stream, which a program may replace but not end.
        unsafe {
            let stream = stdout;
            if !stream.is_null() {
                flockfile(stream);
                libc::fflush(stream);
            }
            Output { stream }
        }
    }

    /// Writes a text; what the stream does not take is lost, as with `printf`.
    pub fn write(&mut self, text: &[u8]) {
        if self.stream.is_null() || text.is_empty() {
            return;
        }
        // SAFETY: a stream that we have locked.
        match unsafe { libc::fileno(self.stream) } {
            file if file >= 0 => write_all(file, text),
            // It leads to memory or to functions of the program.
            // SAFETY: as above; the text is as long as it says.
            _ => unsafe {
                libc::fwrite(text.as_ptr().cast(), 1, text.len(), self.stream);
                libc::fflush(self.stream);
            },
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.stream.is_null() {
            // SAFETY: locked by this thread.
            unsafe { funlockfile(self.stream) };
        }
    }
}

/// Writes all of a text to a file, unless that fails.
pub fn write_all(file: i32, mut text: &[u8]) {
    while !text.is_empty() {
        // SAFETY: the text is as long as it says.
        let written = unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
        if let Ok(written) = usize::try_from(written) {
            text = &text[written.min(text.len())..];
            continue;
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => {
                let mut ready = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
                // SAFETY: one descriptor.
                unsafe { libc::poll(&mut ready, 1, -1) };
            }
            _ => return,
        }
    }
}
