//! Two fingerprints side by side: groups of digits, and which of them differ.

/// How many digits a group has: few enough to compare by eye.
const GROUP: usize = 8;

/// A piece of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its digits.
    pub(crate) digits: String,
    /// Whether the other fingerprint has others here.
    pub(crate) differs: bool,
}

/// A fingerprint in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// The recipe's version, as `v1`; empty when the text has none.
    pub(crate) recipe: Group,
    /// The digest's groups.
    pub(crate) groups: Vec<Group>,
}

/// Cuts `shown` into groups and marks those in which `against` differs.
pub(crate) fn compare(shown: &str, against: &str) -> Pieces {
    let (recipe, digits) = parts(shown);
    let (other_recipe, other_digits) = parts(against);
    let others = cut(other_digits);
    let groups = cut(digits)
        .into_iter()
        .enumerate()
        .map(|(index, digits)| Group {
            differs: others.get(index) != Some(&digits),
            digits,
        })
        .collect();
    Pieces {
        recipe: Group {
            digits: recipe.to_owned(),
            differs: recipe != other_recipe,
        },
        groups,
    }
}

fn parts(fingerprint: &str) -> (&str, &str) {
    fingerprint.split_once(':').unwrap_or(("", fingerprint))
}

fn cut(digits: &str) -> Vec<String> {
    let digits: Vec<char> = digits.chars().collect();
    digits
        .chunks(GROUP)
        .map(|group| group.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differing_groups_are_marked() {
        let pieces = compare("v1:aaaaaaaabbbbbbbbcc", "v1:aaaaaaaabbbbbbbbcd");
        let marks: Vec<bool> = pieces.groups.iter().map(|group| group.differs).collect();
        assert_eq!(marks, [false, false, true]);
        assert!(!pieces.recipe.differs);
        assert!(compare("v2:aa", "v1:aa").recipe.differs);
    }

    #[test]
    fn lengths_may_differ_and_recipes_be_missing() {
        assert_eq!(compare("", "v1:aa").groups, []);
        let longer = compare("aaaaaaaabb", "aaaaaaaa");
        assert!(!longer.groups[0].differs && longer.groups[1].differs);
        let same = compare("v1:\u{e4}\u{e4}", "v1:\u{e4}\u{e4}");
        assert!(same.groups.iter().all(|group| !group.differs));
    }
}
