/** Loaded before the command line: its pipes pass for a terminal, where there is none to be had. */
process.stdin.isTTY = true
process.stdout.isTTY = true
process.stderr.isTTY = true
process.stdout.columns = 80
