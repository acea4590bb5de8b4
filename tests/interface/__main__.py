"""Write the public interface as it is now: ``make interface``."""

from interface.listing import STORED, public_interface

if __name__ == "__main__":
    STORED.write_text(public_interface(), encoding="utf-8")
    print(f"{STORED} has the interface as it is now; `git diff` shows what changed.")
