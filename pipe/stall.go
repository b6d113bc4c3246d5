package pipe

import (
	"fmt"
	"os"
	"time"
)

// Stall says who learns when a run stands still: when for a time no queue and no
// operation has moved, whoever should have moved it. An operation moves when it returns,
// and with AddBytes.
//
// A consumer that does not ask is not a stall: while Next does not wait, there is one
// only where an operation does not return and the last queue is not full.
type Stall struct {
	After time.Duration // for so long at least; up to an eighth more. 0: nobody watches
	// called once for each stall, by a goroutine of the run. It may ask the run for
	// anything, but Close would wait for it
	Report func(StallReport)

	// Waits tells whether somebody waits for an item, where Next is called ahead of those
	// who want what it returns; nil: who is in Next does.
	Waits func() bool

	// Folder is where a recording of what the Go runtime did in the seconds before is
	// written, for go tool trace. "": none is made. There is one recorder in a process:
	// what a program records itself beside it makes Start fail.
	Folder string
}

func (s Stall) check() error {
	switch {
	case s.After < 0:
		return fmt.Errorf("pipe: Config.Stall.After is %v", s.After)
	case s.After > 0 && s.Report == nil:
		return fmt.Errorf("pipe: Config.Stall.Report is nil, and After is %v", s.After)
	case s.Folder == "":
		return nil
	case s.After == 0:
		return fmt.Errorf("pipe: Config.Stall.Folder is %q, and After is 0", s.Folder)
	}
	if info, err := os.Stat(s.Folder); err != nil {
		return fmt.Errorf("pipe: Config.Stall.Folder: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("pipe: Config.Stall.Folder: %s is not a folder", s.Folder)
	}
	return nil
}
