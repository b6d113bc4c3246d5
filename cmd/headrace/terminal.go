package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether a person reads what is written to w.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminalWidth is the number of characters in a line, now: a window may be resized. A
// terminal that does not say has 80.
func terminalWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}

// widthFor is how long lines are to be on a terminal, and in a pipe.
func widthFor(w any) int {
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		return max(30, min(widestPage, terminalWidth(f)))
	}
	return widestPage
}

// widestPage is where longer lines become hard to read, and what logs have room for.
const widestPage = 80

// colours reports whether w may be written to in colours: on a terminal that has them,
// of a user who has not declined (https://no-color.org).
func colours(w any) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
