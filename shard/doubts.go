package shard

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/trust"
)

// doubts are about files that say where samples are, and were written by somebody who
// could not have written the shards: see package trust.
type doubts struct {
	data  []string // paths of the shards
	judge trust.Judge

	mu  sync.Mutex
	all []*trust.Doubt
}

// of returns the function that says whether the file at a path is believed.
func (d *doubts) of(path string) func(fd int) error {
	return func(fd int) error {
		err := d.judge.Check(fd, path, d.data)
		if doubt, ok := errors.AsType[*trust.Doubt](err); ok {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.all = append(d.all, doubt)
		}
		return err
	}
}

// about reports whether the file at a path is not believed.
func (d *doubts) about(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.all, func(doubt *trust.Doubt) bool { return doubt.Path == path })
}

// tell warns of the doubts when the index has been written to a place; "": to none.
func (d *doubts) tell(warn func(message string), at string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 || warn == nil {
		return
	}
	message := fmt.Sprintf("%v: it is not used", d.all[0])
	if n := len(d.all) - 1; n > 0 {
		message += fmt.Sprintf(", and %d more are not", n)
	}
	if at != "" {
		message += "; the index is now in " + at
	}
	warn(message + ". To share an index, have root or the owner of the data write it")
}
