//! `hpmoe-standin FOLDER`: installs a stand-in for the CANN toolkit in a folder.

use hpmoe_standin::Toolkit;
use std::path::absolute;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: hpmoe-standin FOLDER\nlays out a stand-in for the CANN toolkit in that folder");
        return ExitCode::from(2);
    };
    let folder = absolute(&folder).unwrap_or_else(|_| folder.into());
    match Toolkit::new(&folder).install() {
        Ok(()) => {
            println!("export ASCEND_HOME_PATH='{}' HPMOE_DEVICE=cann", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: can't write to `{}`: {error}; name a folder that can be written", folder.display());
            ExitCode::FAILURE
        }
    }
}
