package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"syscall"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
)

// DeadLetters is the file that gets a line for each sample that was lost or replaced. The
// consumer writes it, when the loss is reported. The zero value has no file.
type DeadLetters struct {
	file io.WriteCloser // nil: nobody wants them, or they cannot be written
	rank int
	warn func(code, message string)
	line bytes.Buffer
}

// DeadLetter is a line of the file. docs/protocol.md states it.
type DeadLetter struct {
	Rank     int         `json:"rank"`
	Epoch    int         `json:"epoch"`
	Source   string      `json:"source"`
	Position int64       `json:"position"`
	Index    int64       `json:"index"`
	Output   []int64     `json:"output"`
	Key      recipe.Path `json:"key"`
	Stage    string      `json:"stage"`
	Step     string      `json:"step,omitempty"` // that failed, where the stage carries out several
	Error    string      `json:"error"`
	Replaced bool        `json:"replaced"`
}

// OpenDeadLetters begins the file, or goes on after what is there. Own is for a path
// that a recipe has named, which may be somebody else's; others may be any file. An empty
// path is none. An object of a store is written with the credentials of ctx. Warn learns
// where lines cannot be written.
func OpenDeadLetters(ctx context.Context, path string, own bool, rank int, warn func(code, message string)) (DeadLetters, error) {
	if path == "" {
		return DeadLetters{}, nil
	}
	path, err := store.Plain(path)
	if _, _, ok := store.Scheme(path); ok && err == nil {
		var object io.WriteCloser
		if object, err = openLetters(ctx, path, own); err == nil {
			return NewDeadLetters(object, rank, warn), nil
		}
	}

	if err != nil {
		return DeadLetters{}, fmt.Errorf("dead_letters cannot be written: %w", err)
	}
	open := openAny
	if own {
		open = openOwn
	}
	var file *os.File
	err = machine.Patiently(ctx, func() (err error) {
		file, err = open(path)
		return err
	})
	if err != nil {
		return DeadLetters{}, fmt.Errorf("dead_letters cannot be written: %w", err)
	}
	return NewDeadLetters(file, rank, warn), nil
}

// NewDeadLetters writes lines into a file, which it closes.
func NewDeadLetters(file io.WriteCloser, rank int, warn func(code, message string)) DeadLetters {
	return DeadLetters{file: file, rank: rank, warn: warn}
}

// Wanted tells whether there is a file that takes lines.
func (d *DeadLetters) Wanted() bool { return d.file != nil }

// openAny opens what the user has named.
func openAny(path string) (*os.File, error) {
	// Nobody may read from a pipe, and then opening it would take for ever.
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o666)
}

// openOwn opens what a recipe has named, which may be somebody else's recipe. It makes a
// new file, or goes on with one of dead letters: that of the run that is resumed, or of
// another rank. The ending keeps it from being a file that some program reads as its own,
// such as a shell's.
func openOwn(path string) (*os.File, error) {
	if err := checkOwn(path); err != nil {
		return nil, err
	}
	const flags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | os.O_APPEND
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|flags, 0o666)
	if !errors.Is(err, fs.ErrExist) {
		return file, err
	}
	if file, err = os.OpenFile(path, os.O_RDWR|flags, 0); err != nil {
		if errors.Is(err, syscall.ELOOP) {
			err = fmt.Errorf("a recipe names %q, which is a symbolic link: %s", path, ownRemedy)
		}
		return nil, err
	}
	if !holdsDeadLetters(file) {
		file.Close()
		return nil, errNoLetters(path)
	}
	return file, nil
}

const ownRemedy = "use .loader(dead_letters=…) or --dead-letters for that"

// checkOwn refuses a name that a recipe may not give to dead letters.
func checkOwn(name string) error {
	if !strings.HasSuffix(name, ".jsonl") {
		return fmt.Errorf("a recipe names %q: must end in .jsonl; for other names use .loader(dead_letters=…) or --dead-letters", name)
	}
	return nil
}

// errNoLetters returns the error for a name in a recipe whose file holds something else.
func errNoLetters(name string) error {
	return fmt.Errorf("a recipe names %q, which exists and has no dead letters: %s", name, ownRemedy)
}

// holdsDeadLetters tells whether a file is one that a run has begun: regular, under one
// name, and empty or with a dead letter as its first line.
func holdsDeadLetters(file *os.File) bool {
	of, err := file.Stat()
	if err != nil || !of.Mode().IsRegular() || of.Sys().(*syscall.Stat_t).Nlink != 1 {
		return false
	}
	if of.Size() == 0 {
		return true
	}
	const most = 1 << 20 // of a line, whose error may have a traceback
	return beginsWithLetter(io.NewSectionReader(file, 0, most))
}

// beginsWithLetter reports whether the first line is a dead letter.
func beginsWithLetter(r io.Reader) bool {
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		return false
	}
	has := map[string]json.RawMessage{"step": nil} // which a line lacks if it is not known
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return json.Unmarshal(line, &has) == nil && len(has) == reflect.TypeFor[DeadLetter]().NumField() && d.Decode(new(DeadLetter)) == nil
}

// Add writes a line, at once and in one piece: several processes may write to one file.
// That it cannot is reported once, and does not end the run.
func (d *DeadLetters) Add(of sample.Lost) {
	if d.file == nil {
		return
	}
	d.line.Reset()
	j := json.NewEncoder(&d.line)
	j.SetEscapeHTML(false)
	err := j.Encode(DeadLetter{d.rank, of.ID.Epoch, of.ID.Source, of.ID.Pos, of.ID.Index, of.ID.Output.Numbers(),
		recipe.Path(of.Key), of.Stage, Step(of.Err), of.Cause().Error(), of.Replaced})
	if err == nil {
		_, err = d.file.Write(d.line.Bytes())
	}
	if err != nil {
		d.warn("dead_letters", fmt.Sprintf("dead_letters cannot be written any more, "+
			"so the sample %q and further ones are not in it: %v", of.Key, machine.Unwritten(err)))
		d.file.Close() // it fails as writing did
		d.file = nil
	}
}

// Close ends the file. Some file systems say only then that they have not kept what was
// written.
func (d *DeadLetters) Close() {
	if d.file == nil {
		return
	}
	if err := d.file.Close(); err != nil {
		d.warn("dead_letters", fmt.Sprintf("dead_letters cannot be completed, so its last lines may be missing: %v",
			machine.Unwritten(err)))
	}
	d.file = nil
}
