package extern

import (
	"fmt"
	"io"
	"sync"
)

// Print returns a function that writes what workers say, a line each with the name of the
// stage, as a program shows it that has no log: all that was printed, and of what was
// logged warnings and what is worse.
func Print(to io.Writer) func(Line) {
	var mu sync.Mutex
	return func(l Line) {
		text := l.Message
		if l.Logger != "stdout" && l.Logger != "stderr" {
			if l.Level == "DEBUG" || l.Level == "INFO" || l.Level == "NOTSET" {
				return
			}
			text = l.Level + " " + l.Logger + ": " + text
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(to, "%s: %s\n", l.Stage, text)
	}
}
