//! What kind of thing a directory entry is.

use cap_std::fs::{FileType, FileTypeExt as _, Metadata};

/// A kind of directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something this system has no name for.
    Unknown,
}

impl Kind {
    /// The kind of an opened or examined file.
    pub fn of(metadata: &Metadata) -> Self {
        Self::from_type(metadata.file_type())
    }

    /// The kind that a file type stands for.
    pub fn from_type(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_fifo() {
            Self::Fifo
        } else if kind.is_socket() {
            Self::Socket
        } else if kind.is_char_device() || kind.is_block_device() {
            Self::Device
        } else {
            Self::Unknown
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "symbolic link",
            Self::Fifo => "fifo (named pipe)",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Unknown => "special file",
        }
    }
}
