package headrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"headrace/recipe"
)

// deadLetters is the file that gets a line for each sample that was lost or replaced. The consumer writes it, when the loss is told.
type deadLetters struct {
	file *os.File // nil: nobody wants them, or they cannot be written
	rank int
	warn func(code, message string)
	line bytes.Buffer
}

// deadLetter is a line. docs/protocol.md states it.
type deadLetter struct {
	Rank     int         `json:"rank"`
	Epoch    int         `json:"epoch"`
	Source   string      `json:"source"`
	Position int64       `json:"position"`
	Index    int64       `json:"index"`
	Key      recipe.Path `json:"key"`
	Stage    string      `json:"stage"`
	Error    string      `json:"error"`
	Replaced bool        `json:"replaced"`
}

// openDeadLetters begins the file, or goes on behind what is there.
func (l *Loader) openDeadLetters() error {
	path := string(l.config.DeadLetters)
	if path == "" {
		return nil
	}
	// Nobody may read from a pipe, and then opening it would take for ever.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return &Mistake{Key: "dead_letters", Err: fmt.Errorf("dead_letters cannot be written: %w", err)}
	}
	l.dead = deadLetters{file: file, rank: l.config.Rank, warn: l.options.Warn}
	return nil
}

// add writes a line, at once and in one piece: several processes may write to one file. That it cannot is told once, and does not end the run.
func (d *deadLetters) add(of Lost) {
	if d.file == nil {
		return
	}
	d.line.Reset()
	j := json.NewEncoder(&d.line)
	j.SetEscapeHTML(false)
	err := j.Encode(deadLetter{d.rank, of.ID.Epoch, of.ID.Source, of.ID.Pos, of.ID.Index, recipe.Path(of.Key), of.Stage, of.Cause().Error(), of.Replaced})
	if err == nil {
		_, err = d.file.Write(d.line.Bytes())
	}
	if err != nil {
		d.warn("dead_letters", fmt.Sprintf("dead_letters cannot be written any more, so the sample %q and further ones are not in it: %v", of.Key, err))
		d.close()
	}
}

func (d *deadLetters) close() {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
}
