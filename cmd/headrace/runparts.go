package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/internal/words"
)

// choosePart has the run be of the part that --part names.
func (o *outOptions) choosePart(c *headrace.Config) (err error) {
	if o.part == "" {
		return nil
	}
	if o.checkParts {
		return errors.New("--check-parts looks at all parts: leave out --part")
	}
	if o.ofParts, err = export.ParsePart(o.part); err != nil {
		return fmt.Errorf("--part is %w", err)
	}
	c.Part, c.Parts = o.ofParts.Index, o.ofParts.Of
	return nil
}

// checkParts tells whether all parts of what --out names are whole.
func (o *runOptions) checkParts(ctx context.Context) error {
	whole, err := export.CheckParts(ctx, o.out.target)
	if err != nil {
		return &outputError{err}
	}
	if o.json {
		return json.NewEncoder(o.stdout).Encode(whole)
	}
	if o.quiet {
		return nil
	}
	text := fmt.Sprintf("All %s of %v are whole: %s, %s in %s", words.Plural(int64(whole.Parts), "part"), o.out.target,
		words.Plural(whole.Samples, "sample"), bytesize.Text(whole.Bytes), words.Plural(int64(whole.Files), "file"))
	_, err = io.WriteString(o.stdout, text+failed(whole.Lost, whole.Replaced)+"\n")
	return err
}
