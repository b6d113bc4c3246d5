package extern

import (
	"fmt"
	"io"
	"sync"
)

// Print returns a log function for programs without a log of their own. It writes each
// line with the name of its stage: everything that was printed, and log records of level
// warning or above.
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
