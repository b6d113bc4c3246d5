package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

// isShards tells whether what somebody wants to look at is shards, and no recipe.
func isShards(ctx context.Context, name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json", "":
		folder, _ := store.HasFolder(ctx, name)
		return folder || strings.ContainsAny(filepath.Base(name), "*{") && shard.Named(name)
	}
	return shard.Named(name)
}

// inspectedShards is what there is in shards.
type inspectedShards struct {
	Format  string           `json:"format"`
	Shards  int              `json:"shards"`
	Samples int64            `json:"samples"`
	Bytes   int64            `json:"bytes"` // of the files
	Least   int64            `json:"least"` // samples of a shard
	Most    int64            `json:"most"`
	Fields  []inspectedField `json:"fields"`
	Refused []string         `json:"refused,omitempty"` // fields that cannot be read, and why
	Read    string           `json:"read"`              // what reads all of it, in Python
	Blocks  int64            `json:"blocks,omitempty"`  // of samples that are unpacked together; 0: each by itself
	Index   *inspectedIndex  `json:"index,omitempty"`
}

type inspectedField struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Samples int64  `json:"samples"`
	Bytes   int64  `json:"bytes,omitempty"`
	Most    int64  `json:"most,omitempty"` // of one
}

type inspectedIndex struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// inspectShards shows what there is in shards, which are indexed if they are not.
func inspectShards(ctx context.Context, from []string, format string, asJSON bool, out, progress io.Writer) error {
	b := &indexBar{w: progress}
	d, err := shard.Open(ctx, from, shard.Options{Format: format, Scanned: b.scanned, Warn: b.line})
	b.clear()
	if err != nil {
		return fmt.Errorf("%w: %w", source.ErrSource, err)
	}
	defer d.Close()
	i, err := lookAtShards(ctx, d, from)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, i)
	}
	return i.print(out)
}

func lookAtShards(ctx context.Context, d *shard.Dataset, from []string) (*inspectedShards, error) {
	x := d.Index()
	i := &inspectedShards{Format: d.Format.Name(), Shards: len(x.Shards), Samples: x.Len()}
	for n := range x.Shards {
		s := &x.Shards[n]
		i.Bytes += s.Size
		i.Most = max(i.Most, s.Samples)
		if n == 0 || s.Samples < i.Least {
			i.Least = s.Samples
		}
	}
	schema, err := d.Schema()
	if err != nil {
		return nil, err
	}
	for _, f := range schema {
		of := inspectedField{Name: f.Name, Type: f.Type.String(), Samples: i.Samples}
		for _, known := range slices.Concat(x.Fields, x.Numbers) {
			if known.Name == f.Name {
				of.Samples, of.Bytes, of.Most = known.Samples, known.Bytes, known.Most
			}
		}
		i.Fields = append(i.Fields, of)
	}
	for _, all := range []map[string]string{x.Refused, x.Mixed} {
		for _, name := range slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(all))), x.Compare()) {
			i.Refused = append(i.Refused, name+": "+all[name])
		}
	}

	usual, err := input.UsualFields(d)
	switch {
	case err == nil:
		i.Read = fmt.Sprintf("hr.read(%s, fields={%s})", quotedNames(from), input.Quoted(usual))
		if i.Blocks, err = blocksOf(ctx, d, usual); err != nil {
			return nil, err
		}
	case len(usual) > 0:
		i.Read = fmt.Sprintf("hr.read(%s, fields={%s})", quotedNames(from), input.Quoted(usual))
	}
	if at := d.Kept(); at != "" {
		if s, err := os.Stat(at); err == nil {
			i.Index = &inspectedIndex{at, s.Size()}
		}
	}
	return i, nil
}

// blocksTried bounds how many blocks are looked for. Where there are more, neighbours
// count as one.
const blocksTried = 100_000

// blocksOf is how many blocks of samples are unpacked together; 0: each by itself.
func blocksOf(ctx context.Context, d *shard.Dataset, fields input.FieldsFrom) (int64, error) {
	var columns []shard.Column
	for _, f := range fields {
		columns = append(columns, f.Column())
	}
	r, err := d.Select(ctx, columns...)
	if err != nil {
		return 0, err
	}
	least := 1 + d.Len()/blocksTried
	starts, err := r.Blocks(least)
	if n := int64(len(starts)); 2*n*least <= d.Len() { // of two samples and more
		return n, err
	}
	return 0, err
}

func quotedNames(from []string) string {
	if len(from) == 1 {
		return fmt.Sprintf("%q", from[0])
	}
	var all []string
	for _, f := range from {
		all = append(all, fmt.Sprintf("%q", f))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (i *inspectedShards) print(out io.Writer) error {
	each := words.Plural(i.Most, "sample") + " each"
	if i.Least != i.Most {
		each = fmt.Sprintf("%s to %s each", words.Thousands(i.Least), words.Plural(i.Most, "sample"))
	}
	shards := words.Plural(int64(i.Shards), "shard")
	if i.Shards > 1 {
		shards += " of " + each
	}
	_, err := fmt.Fprintf(out, "%s: %s in %s, %s\n\n", i.Format, words.Plural(i.Samples, "sample"), shards,
		bytesize.Text(i.Bytes))
	if err != nil {
		return err
	}
	rows := [][]string{{"field", "type", "samples", "bytes", "largest"}}
	for _, f := range i.Fields {
		row := []string{f.Name, f.Type, words.Thousands(f.Samples), "", ""}
		if f.Bytes > 0 {
			row[3], row[4] = bytesize.Text(f.Bytes), bytesize.Text(f.Most)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, cell := range row {
			widths[k] = max(widths[k], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		line := ""
		for k, cell := range row {
			if k < 2 {
				line += fmt.Sprintf("  %-*s", widths[k], cell)
			} else {
				line += fmt.Sprintf("  %*s", widths[k], cell)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	for _, why := range i.Refused {
		fmt.Fprintf(out, "  %s\n", why)
	}
	if i.Read != "" {
		fmt.Fprintf(out, "\n%s\n", i.Read)
	}
	if i.Blocks > 0 {
		fmt.Fprintf(out, "about %s are unpacked together: .shuffle() may unpack them for each one, .shuffle(window=65_536) does it once\n",
			words.Plural(i.Samples/i.Blocks, "sample"))
	}
	if i.Index != nil && i.Samples > 0 {
		fmt.Fprintf(out, "index: %s, %s, %.1f bytes a sample\n", i.Index.Path, bytesize.Text(i.Index.Bytes),
			float64(i.Index.Bytes)/float64(i.Samples))
	}
	return nil
}
