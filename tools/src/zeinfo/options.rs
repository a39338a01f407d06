//! The command line.

pub const USAGE: &str = "\
usage: zeinfo [ACTION] [--profile NAME] [--driver PATH] [--loader PATH]

What the Level Zero loader, its drivers, their devices and system management say.

actions:
  (none)         one screen
  --all          everything
  --json         everything, as JSON
  --check        whether all answers agree; the contradictions, and exit code 1, where they do not
  --diff A B     how two devices differ, and exit code 1 where they do; each is a file that --json wrote or a
                 profile of the CPU driver
  --help         this text

options:
  --profile NAME what the CPU driver's device says of itself (ZE_CPU_PROFILE)
  --driver PATH  the driver to look at in place of the system's (ZE_ENABLE_ALT_DRIVERS)
  --loader PATH  the loader; libze_loader.so.1 where it is not given";

const LOADER: &str = "libze_loader.so.1";

#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Summary,
    All,
    Json,
    Check,
    Diff(String, String),
    Help,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub action: Action,
    pub profile: Option<String>,
    pub driver: Option<String>,
    pub loader: String,
}

impl Options {
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Options, String> {
        let mut options =
            Options { action: Action::Summary, profile: None, driver: None, loader: LOADER.to_owned() };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
            let action = match argument.as_str() {
                "--all" => Action::All,
                "--json" => Action::Json,
                "--check" => Action::Check,
                "--diff" => Action::Diff(value()?, value()?),
                "--help" | "-h" => Action::Help,
                "--profile" => {
                    options.profile = Some(value()?);
                    continue;
                }
                "--driver" => {
                    options.driver = Some(value()?);
                    continue;
                }
                "--loader" => {
                    options.loader = value()?;
                    continue;
                }
                other => return Err(format!("unknown argument '{other}'")),
            };
            if options.action != Action::Summary {
                return Err("one action at a time".into());
            }
            options.action = action;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn actions_and_options_come_in_any_order() {
        let options = parse("--profile a770 --diff a b --loader l.so").expect("valid");
        assert_eq!(options.action, Action::Diff("a".into(), "b".into()));
        assert_eq!((options.profile.as_deref(), options.loader.as_str()), (Some("a770"), "l.so"));
        assert_eq!(parse("").expect("valid").action, Action::Summary);
    }

    #[test]
    fn what_is_missing_or_unknown_is_said() {
        assert_eq!(parse("--diff a"), Err("--diff wants a value".into()));
        assert_eq!(parse("--jsno"), Err("unknown argument '--jsno'".into()));
        assert_eq!(parse("--json --all"), Err("one action at a time".into()));
    }
}
