package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/stats"
)

// traceOptions are the flag with which headrace run is traced.
type traceOptions struct {
	name string
	file *os.File
	stop func() (stats.TraceSummary, error)
}

// traceEvent is what learns of a trace that was written.
type traceEvent struct {
	File string `json:"file"`
	stats.TraceSummary
}

func (o *traceOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.name, "trace", "", "write what every worker does, and when, to a `file` for https://ui.perfetto.dev")
}

// create opens the file, before anything takes long. What an earlier run wrote there
// stays until this one begins.
func (o *traceOptions) create() (err error) {
	if o.name == "" {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ) // a limit of file sizes is an error of the file then
	if o.file, err = os.OpenFile(o.name, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
		return wrongUse(o.failed(err))
	}
	return nil
}

func (o *traceOptions) begin(l *headrace.Loader) (err error) {
	if o.file == nil {
		return nil
	}
	if o.regular() {
		if err := o.file.Truncate(0); err != nil {
			return o.failed(err)
		}
	}
	o.stop, err = l.Trace(o.file)
	return err
}

// end completes the file. It returns nil where there is none.
func (o *traceOptions) end() (*traceEvent, error) {
	if o.stop == nil {
		return nil, nil
	}
	sum, err := o.stop()
	if closed := o.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, o.failed(err)
	}
	return &traceEvent{o.name, sum}, nil
}

// discard closes a file of which nothing became.
func (o *traceOptions) discard() {
	if o.file == nil || o.stop != nil {
		return
	}
	if s, err := o.file.Stat(); err == nil && o.regular() && s.Size() == 0 {
		os.Remove(o.name)
	}
	o.file.Close()
}

// regular tells whether the file is one, and not a pipe or a device.
func (o *traceOptions) regular() bool {
	s, err := o.file.Stat()
	return err == nil && s.Mode().IsRegular()
}

func (o *traceOptions) failed(err error) error {
	return fmt.Errorf("--trace: %w", machine.Unwritten(err))
}

// text says what was written, and what to do with it.
func (e traceEvent) text() string {
	text := fmt.Sprintf("Wrote the trace %s: %s, %s", e.File, words.Plural(e.Events, "event"), bytesize.Text(e.Bytes))
	if e.Dropped > 0 {
		text += fmt.Sprintf("; %s are missing, because the disk was too slow", words.Thousands(e.Dropped))
	}
	return text + ". Open it in https://ui.perfetto.dev"
}
