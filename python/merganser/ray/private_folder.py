"""The folder of a worker: the Python side of src/runners/process_folder.hpp and src/publishing/folder_lock.hpp.

    <directory>/merganser-<user id>/<machine>-<name>

It is for its owner only (mode 0700), and its owner holds its lock until it ends, however it ends. So a lock that is
free tells that the owner is dead: the next worker or session that makes a folder in the same directory removes what is
left, of this machine at once, of another, whose locks need not be seen here, a day after its last use. Folders another
user made, links, and what is no folder are refused: rows would lie where others read or swap them.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import time
from pathlib import Path

#: Attempts at making a folder while other processes remove it, or the one above it.
ATTEMPTS = 100
#: How long the process that held the lock before may take to end.
HELD_SECONDS = 10
POLL_SECONDS = 0.05
OLD_AFTER_SECONDS = 24 * 60 * 60
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ELSEWHERE = "SET merganser_worker_directory to a folder of your own"


class PrivateFolder:
    """One of this name that a process left which has ended is taken over with what lies in it.

    Raises OSError that names the folder and what to do.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self.path = private_path(directory, name)
        self.root = self.path.parent
        self.descriptor: int | None = None
        directory.mkdir(parents=True, exist_ok=True)
        for _ in range(ATTEMPTS):
            require_own_folder(self.root)
            with contextlib.suppress(FileNotFoundError):  # others have removed it, or the one above it
                self.descriptor = make_and_lock(self.path)
            if self.descriptor is not None:
                remove_abandoned_folders(self.root)
                return
        raise OSError(f'cannot make a folder in "{self.root}": others remove it again and again; {ELSEWHERE}')

    def is_there(self) -> bool:
        """Whether nobody has removed it, as programs that clean temporary folders do."""
        try:
            named = os.lstat(self.path)
        except FileNotFoundError:
            return False
        return self.descriptor is not None and os.path.samestat(named, os.fstat(self.descriptor))

    def remove(self) -> None:
        """And what others left, who may have been the last."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.release()
        remove_abandoned_folders(self.root)
        with contextlib.suppress(OSError):  # other folders keep it, or it is gone
            self.root.rmdir()

    def release(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
        self.descriptor = None


def private_path(directory: Path, name: str) -> Path:
    return directory / f"merganser-{os.geteuid()}" / f"{machine()}-{name}"


def machine() -> str:
    """As FolderLock::Machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return boot[:13] or "unknown"


def require_own_folder(root: Path) -> None:
    """The folder of this user, made where there is none."""
    try:
        os.mkdir(root, 0o700)
    except FileExistsError:
        pass
    else:
        return
    try:
        descriptor = os.open(root, FLAGS)
    except FileNotFoundError:
        return  # removed meanwhile: what is made in it says so
    except OSError:
        raise OSError(f'the folder "{root}" is a link or no folder; remove it, or {ELSEWHERE}') from None
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise OSError(
                f'the folder "{root}" belongs to another owner (user id {status.st_uid}), who could read and swap what '
                f"lies in it; have it removed, or {ELSEWHERE}"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


def make_and_lock(path: Path) -> int | None:
    """The descriptor that holds the lock; None, or FileNotFoundError, where others removed the folder meanwhile."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    end = time.monotonic() + HELD_SECONDS
    while (descriptor := try_lock(path)) is None:
        if not path.exists():
            return None
        if time.monotonic() > end:
            raise OSError(f'the folder "{path}" is in use by another process')
        time.sleep(POLL_SECONDS)
    return descriptor


def try_lock(path: Path) -> int | None:
    """None where another process has it; links are not followed."""
    descriptor = os.open(path, FLAGS)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.lstat(path), os.fstat(descriptor)):  # the name may lead to another folder by now
            return descriptor
    except BlockingIOError:
        pass
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def remove_abandoned_folders(root: Path) -> None:
    """Removes what processes that were killed left behind. Others may be removing the same."""
    for folder in folders_in(root):
        if not folder.name.startswith(f"{machine()}-") and not is_old(folder):
            continue
        try:
            descriptor = try_lock(folder)
        except OSError:  # gone, a link, or no folder
            continue
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def folders_in(root: Path) -> list[Path]:
    try:
        return list(root.iterdir())
    except FileNotFoundError:
        return []


def is_old(folder: Path) -> bool:
    oldest = time.time() - OLD_AFTER_SECONDS
    try:
        return all(path.lstat().st_mtime < oldest for path in (folder, *folder.iterdir()))
    except OSError:  # its owner is removing it
        return False
