"""Private parts of the package: no promise is made about anything in here."""
