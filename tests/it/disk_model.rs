//! A disk that tells what a power cut leaves: beside what every program sees it keeps what is safe, and what still may
//! or may not arrive.
//!
//! Assumed of the medium: what `fdatasync` and the `fsync` of a folder have answered for stays; a rename is there or not
//! there; a write over bytes that are safe leaves old or new ones, sector by sector. Nothing is assumed of the order in
//! which anything else arrives, and an `fdatasync` of a file makes its name no safer.

use crate::{starts::Files, support::Dice};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const SECTOR: usize = 512;

/// A step to the disk, as the program's trace tells it. Paths are places below the workspace's folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Step {
    Create {
        path: String,
    },
    SetMode {
        path: String,
    },
    Write {
        path: String,
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    Truncate {
        path: String,
        len: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    Sync {
        path: String,
    },
    SyncFolder {
        path: String,
    },
    /// Not of the trace: a sync that was made to fail. What it should have made safe may never arrive.
    FailedSync {
        path: String,
    },
    /// Not a step: the caller has its answer.
    Answer,
}

impl Step {
    pub(crate) fn is_made(&self) -> bool {
        !matches!(self, Self::Answer | Self::FailedSync { .. })
    }

    pub(crate) fn paths(&mut self) -> Vec<&mut String> {
        match self {
            Self::Answer => vec![],
            Self::Rename { from, to } => vec![from, to],
            Self::Create { path }
            | Self::SetMode { path }
            | Self::Write { path, .. }
            | Self::Truncate { path, .. }
            | Self::Remove { path }
            | Self::Sync { path }
            | Self::FailedSync { path }
            | Self::SyncFolder { path } => vec![path],
        }
    }
}

/// What becomes of something that is not safe yet. All but the first two are for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Arrives,
    IsLost,
    /// The file has the new length, and no data came.
    Nulls,
    /// Half of the data came, and the length with it.
    Half,
    HalfThenNulls,
    FirstSector,
    AllButFirstSector,
}

const FATES: [Fate; 7] = [
    Fate::Arrives,
    Fate::IsLost,
    Fate::Nulls,
    Fate::Half,
    Fate::HalfThenNulls,
    Fate::FirstSector,
    Fate::AllButFirstSector,
];

impl Fate {
    /// A name comes or does not.
    fn of(self, what: Unsafe) -> Self {
        if matches!(what, Unsafe::Name(_)) && self != Self::Arrives { Self::IsLost } else { self }
    }
}

#[derive(Clone, Debug)]
enum Data {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
}

#[derive(Clone, Debug)]
struct Change {
    data: Data,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Safe,
    /// Its sync failed: a later one proves nothing.
    Doomed,
}

/// What a name belongs to: its bytes in the beginning, all of them safe, and what was done to them since.
#[derive(Clone, Debug, Default)]
struct Inode {
    first: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, usize),
    /// From one name to another: of this inode, whatever becomes of the changes before.
    Move(String, String, usize),
    Remove(String),
}

/// Something that may or may not arrive: the n-th change of a name, or the n-th change of a file's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unsafe {
    Name(usize),
    Data(usize, usize),
}

/// A moment at which the power goes: what becomes of each thing that is not safe by then.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cut(Vec<Fate>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    name_changes: Vec<NameChange>,
}

impl Disk {
    /// A disk on which all of this is safe.
    pub(crate) fn of(files: &Files) -> Self {
        let inodes = files.values().map(|first| Inode { first: first.clone(), changes: Vec::new() }).collect();
        let names: BTreeMap<_, _> = files.keys().cloned().zip(0..).collect();
        Self { inodes, safe_names: names.clone(), names, name_changes: Vec::new() }
    }

    pub(crate) fn make(&mut self, step: &Step) {
        match step {
            Step::Create { path } => {
                self.inodes.push(Inode::default());
                self.name(NameChange::Add(path.clone(), self.inodes.len() - 1));
            }
            Step::Write { path, at, bytes } => {
                let inode = self.names[path];
                let at = at.unwrap_or_else(|| self.content(inode, |_| Fate::Arrives).len());
                self.change(inode, Data::Write { at, bytes: bytes.clone() });
            }
            Step::Truncate { path, len } => self.change(self.names[path], Data::Cut(*len)),
            Step::Rename { from, to } => self.name(NameChange::Move(from.clone(), to.clone(), self.names[from])),
            Step::Remove { path } => self.name(NameChange::Remove(path.clone())),
            Step::Sync { path } => self.end_of_pending(path, State::Safe),
            Step::FailedSync { path } => self.end_of_pending(path, State::Doomed),
            Step::SyncFolder { path } => {
                for change in std::mem::take(&mut self.name_changes) {
                    let (NameChange::Add(name, _) | NameChange::Move(_, name, _) | NameChange::Remove(name)) = &change;
                    if folder_of(name) == path {
                        apply_name(&mut self.safe_names, &change);
                    } else {
                        self.name_changes.push(change);
                    }
                }
            }
            Step::SetMode { .. } | Step::Answer => {}
        }
    }

    fn name(&mut self, change: NameChange) {
        apply_name(&mut self.names, &change);
        self.name_changes.push(change);
    }

    fn change(&mut self, inode: usize, data: Data) {
        self.inodes[inode].changes.push(Change { data, state: State::Pending });
    }

    fn end_of_pending(&mut self, path: &str, state: State) {
        // A folder that could not be synced: its names stay pending.
        let Some(inode) = self.names.get(path) else { return };
        for change in self.inodes[*inode].changes.iter_mut().filter(|change| change.state == State::Pending) {
            change.state = state;
        }
    }

    /// An inode's bytes, where `fate` says what became of its n-th change.
    fn content(&self, inode: usize, fate: impl Fn(usize) -> Fate) -> Vec<u8> {
        let mut content = self.inodes[inode].first.clone();
        for (number, change) in self.inodes[inode].changes.iter().enumerate() {
            let fate = if change.state == State::Safe { Fate::Arrives } else { fate(number) };
            match &change.data {
                Data::Cut(len) if fate == Fate::Arrives => content.resize(*len, 0),
                Data::Cut(_) => {}
                Data::Write { at, bytes } => write(&mut content, *at, bytes, fate),
            }
        }
        content
    }

    /// The files where `fate` says what became of all that is not safe.
    fn image(&self, fate: impl Fn(Unsafe) -> Fate) -> Files {
        let mut names = self.safe_names.clone();
        for (number, change) in self.name_changes.iter().enumerate() {
            if fate(Unsafe::Name(number)) == Fate::Arrives {
                apply_name(&mut names, change);
            }
        }
        let content = |inode| self.content(inode, |change| fate(Unsafe::Data(inode, change)));
        names.into_iter().map(|(name, inode)| (name, content(inode))).collect()
    }

    fn not_safe(&self) -> Vec<Unsafe> {
        let names = (0..self.name_changes.len()).map(Unsafe::Name);
        let data = self.inodes.iter().enumerate().flat_map(|(inode, of)| {
            let not_safe = of.changes.iter().enumerate().filter(|(_, change)| change.state != State::Safe);
            not_safe.map(move |(number, _)| Unsafe::Data(inode, number))
        });
        names.chain(data).collect()
    }

    /// The cuts that may come now: the orders in which a file system may let things arrive, each alone or missing alone,
    /// data without its name, names without their data, and `random` more.
    pub(crate) fn cuts(&self, random: usize, dice: &mut Dice) -> BTreeSet<Cut> {
        let not_safe = self.not_safe();
        let mut cuts = BTreeSet::new();
        let mut add = |fate: &mut dyn FnMut(usize) -> Fate| {
            let fates = not_safe.iter().enumerate().map(|(at, what)| fate(at).of(*what));
            cuts.insert(Cut(fates.collect()));
        };
        for data in FATES {
            for name in [Fate::Arrives, Fate::IsLost] {
                add(&mut |at| if matches!(not_safe[at], Unsafe::Name(_)) { name } else { data });
            }
        }
        for one in 0..not_safe.len() {
            for others in [Fate::Arrives, Fate::IsLost] {
                for fate in FATES {
                    add(&mut |at| if at == one { fate } else { others });
                }
            }
        }
        for _ in 0..random {
            add(&mut |_| FATES[usize::try_from(dice.below(7)).unwrap()]);
        }
        cuts
    }

    /// The files that a cut leaves.
    pub(crate) fn after(&self, cut: &Cut) -> Files {
        let fates: BTreeMap<_, _> = self.not_safe().into_iter().zip(&cut.0).collect();
        self.image(|what| *fates[&what])
    }

    /// What programs may read in this same boot once the pages were dropped whose sync failed: the system takes
    /// such pages for clean, and reads them again from the disk.
    pub(crate) fn images_without_doomed_pages(&self) -> BTreeSet<Files> {
        let fates = [Fate::IsLost, Fate::Nulls, Fate::Half, Fate::HalfThenNulls];
        let is_doomed = |what| match what {
            Unsafe::Name(_) => false,
            Unsafe::Data(inode, number) => self.inodes[inode].changes[number].state == State::Doomed,
        };
        fates.map(|fate| self.image(|what| if is_doomed(what) { fate } else { Fate::Arrives })).into()
    }

    /// What programs may read in this same boot where the disk refused pages that nobody had synced yet, all of them or
    /// those of one file, and the system dropped them: files keep their new length.
    pub(crate) fn images_without_pending_pages(&self) -> BTreeSet<Files> {
        let images = (0..=self.inodes.len()).map(|one| {
            self.image(|what| match what {
                Unsafe::Data(inode, _) if inode == one || one == self.inodes.len() => Fate::Nulls,
                _ => Fate::Arrives,
            })
        });
        images.collect()
    }
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn apply_name(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Add(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
        NameChange::Move(from, to, inode) => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
    }
}

fn write(content: &mut Vec<u8>, at: usize, bytes: &[u8], fate: Fate) {
    let end = at + bytes.len();
    let half = bytes.len() / 2;
    let first_sector = (SECTOR - at % SECTOR).min(bytes.len());
    let (from, until) = match fate {
        Fate::Arrives => (0, bytes.len()),
        Fate::IsLost => return,
        Fate::Nulls => (0, 0),
        Fate::Half | Fate::HalfThenNulls => (0, half),
        Fate::FirstSector => (0, first_sector),
        Fate::AllButFirstSector => (first_sector, bytes.len()),
    };
    let len = if matches!(fate, Fate::Half | Fate::FirstSector) { at + until } else { end };
    content.resize(content.len().max(len), 0);
    content[at + from..at + until].copy_from_slice(&bytes[from..until]);
}

#[test]
fn a_cut_leaves_what_was_synced_and_any_mix_of_the_rest() {
    let text = |text: &str| text.as_bytes().to_vec();
    let files = |files: &[(&str, &str)]| files.iter().map(|(name, bytes)| ((*name).to_owned(), text(bytes))).collect();
    let mut dice = Dice::thrown_for("a cut");
    let mut images =
        |disk: &Disk| -> BTreeSet<Files> { disk.cuts(50, &mut dice).iter().map(|cut| disk.after(cut)).collect() };
    let mut disk = Disk::of(&files(&[("m/a", "old")]));
    let path = || "m/.a.new".to_owned();
    disk.make(&Step::Create { path: path() });
    disk.make(&Step::Write { path: path(), at: None, bytes: text("newer") });
    disk.make(&Step::Rename { from: path(), to: "m/a".to_owned() });
    let left = images(&disk);
    // Nothing; the name alone; its length alone; half of its data; all of it; a copy without its rename.
    for expected in ["old", "", "\0\0\0\0\0", "ne", "ne\0\0\0", "newer"] {
        assert!(left.contains(&files(&[("m/a", expected)])), "{expected:?} in {left:?}");
    }
    assert!(left.contains(&files(&[("m/a", "old"), ("m/.a.new", "newer")])), "{left:?}");

    // The data is safe, its name is not.
    disk.make(&Step::Sync { path: "m/a".to_owned() });
    let left = images(&disk);
    assert!(left.iter().all(|files| files["m/a"] == b"old" || files["m/a"] == b"newer"), "{left:?}");
    disk.make(&Step::SyncFolder { path: "m".to_owned() });
    assert_eq!(images(&disk), BTreeSet::from([files(&[("m/a", "newer")])]));

    // A second sync of the same pages proves nothing; a new write does not make them safe either.
    let append =
        |disk: &mut Disk, bytes| disk.make(&Step::Write { path: "m/a".to_owned(), at: None, bytes: text(bytes) });
    append(&mut disk, "!");
    disk.make(&Step::FailedSync { path: "m/a".to_owned() });
    disk.make(&Step::Sync { path: "m/a".to_owned() });
    assert!(images(&disk).contains(&files(&[("m/a", "newer")])));
    assert!(disk.images_without_doomed_pages().contains(&files(&[("m/a", "newer")])));
}
