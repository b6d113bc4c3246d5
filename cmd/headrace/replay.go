package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func replayCommand() *cobra.Command {
	var r replay
	c := &cobra.Command{
		Use:   "replay RECIPE --state FILE",
		Short: "Make a batch of a run again, with the origin of its rows",
		Long: `Make one batch again, bit for bit: number --batch after a saved state, 0 for the next one. For each ` +
			`row it prints the sample's source,
index, key and position in the epoch, and what random operations drew; for each field the SHA-256 of its bytes.

The state is a JSON file with what loader.state_dict() returned: one record, or a list of several ranks' records. The batch is that of the
rank that saved it, or of --rank and --world-size, if the rest of the epoch was divided again. In completion order, or after a merge by
arrival, its composition may differ.

--out writes the rows as headrace run does.`,
		Example: `  headrace replay recipe.yaml --state step-1200.json --batch 7
  headrace replay recipe.yaml --state step-1200.json --json | jq '.rows[]'
  headrace replay recipe.yaml --state step-1200.json --out tar:look/%d.tar
  headrace replay recipe.yaml --state all-ranks.json --rank 0 --world-size 2`,
		Args: oneRecipe,
		RunE: func(c *cobra.Command, args []string) error {
			r.stdout, r.stderr = c.OutOrStdout(), c.ErrOrStderr()
			return r.run(c.Context(), args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&r.state, "state", "", "`file` with the state, as JSON; - is standard input")
	f.Int64VarP(&r.batch, "batch", "n", 0, "`number` of the batch after the state")
	f.IntVar(&r.rank, "rank", 0, "rank (default: that of the state)")
	f.IntVar(&r.world, "world-size", 0, "number of ranks (default: that of the state)")
	f.BoolVar(&r.json, "json", false, "print all of it as one JSON object")
	c.MarkFlagRequired("state")
	r.recipe = recipeFlags(c, "epochs", "prefetch")
	r.out.addFlags(c)
	return c
}

// replay makes one batch again.
type replay struct {
	recipe      *recipeOptions
	out         outOptions
	state       string
	batch       int64
	rank, world int
	json        bool

	stdout, stderr io.Writer
}

func (r *replay) run(ctx context.Context, path string) error {
	f, config, err := r.recipe.read(path)
	if err != nil {
		return err
	}

	records, err := readStates(r.state)
	if err == nil && r.batch < 0 {
		err = fmt.Errorf("--batch is %d: must be at least 0", r.batch)
	}
	if err == nil {
		err = r.out.check(f.Recipe, config)
	}
	if err != nil {
		return wrongUse(err)
	}

	config.Epochs, config.WorldSize, config.Rank = nil, records[0].WorldSize, records[0].Rank
	if r.recipe.command.Flags().Changed("world-size") || r.recipe.command.Flags().Changed("rank") {
		config.WorldSize, config.Rank = r.world, r.rank
	}
	config.Agree = config.StepsPerEpoch == nil && !config.Uneven // nobody waits for a rank that makes one batch
	if err := config.Check(); err != nil {
		return wrongUse(err)
	}

	warn := func(_, message string) { fmt.Fprintln(r.stderr, "warning: "+message) }
	l, err := headrace.Open(ctx, f.Recipe, config, headrace.Options{Ledger: true, Warn: warn})
	if err != nil {
		return f.Locate(err)
	}
	defer l.Close()

	b, err := r.find(ctx, l, records)
	if err != nil {
		return err
	}
	defer b.Release()

	told := newReplayed(b, l.Info().Fields)
	if err := r.write(b, l, config); err != nil {
		return err
	}

	if r.json {
		return json.NewEncoder(r.stdout).Encode(told)
	}
	return told.print(r.stdout)
}

// find returns the batch.
func (r *replay) find(ctx context.Context, l *headrace.Loader, records []headrace.State) (*headrace.Batch, error) {
	from, err := l.Gather(records)
	if err == nil {
		from, err = l.Seek(ctx, from, r.batch)
	}
	if err == nil {
		err = l.Start(from, nil)
	}
	for err == nil || err == io.EOF {
		var b *headrace.Batch
		if b, err = l.Next(ctx); err == nil {
			return b, nil
		}
	}
	switch {
	case errors.Is(err, headrace.ErrState):
		return nil, wrongUse(err)
	case errors.Is(err, pipe.ErrDone):
		return nil, fmt.Errorf("--batch is %d: the run has no batches", r.batch)
	}
	return nil, err
}

// write writes the rows where --out says.
func (r *replay) write(b *headrace.Batch, l *headrace.Loader, c headrace.Config) error {
	epochs := b.Epoch() + 1
	c.Epochs = &epochs
	e, err := r.out.open(l.Info(), c)
	if err != nil || e == nil {
		return err
	}
	defer e.Close()
	if _, done := e.Complete(); done || e.Saved() > 0 {
		return wrongUse(&outputError{fmt.Errorf("%w in %s: --overwrite removes it", export.ErrOther, r.out.target)})
	}
	if err = e.Write(b, l.State()); err == nil {
		_, err = e.Finish(l.State())
	}
	if err != nil {
		return &outputError{err}
	}
	return nil
}

// readStates reads a record, or a list of them.
func readStates(name string) (records []headrace.State, err error) {
	var text []byte
	if name == "-" {
		text, err = io.ReadAll(os.Stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	if text = bytes.TrimSpace(text); !bytes.HasPrefix(text, []byte("[")) {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	if err = json.Unmarshal(text, &records); err != nil {
		return nil, fmt.Errorf("--state %s: %w", name, err)
	}
	none := func(r headrace.State) bool { return r.WorldSize == 0 || r.Sources == nil }
	if len(records) == 0 || slices.ContainsFunc(records, none) {
		return nil, fmt.Errorf("--state %s: this is not a loader state", name)
	}
	return records, nil
}

// replayed is what replay tells. Its JSON form is stated in
// docs/guide/order-state-memory.md.
type replayed struct {
	Epoch  int             `json:"epoch"`
	Step   int64           `json:"step"` // number of the batch in its epoch
	Fields []replayedField `json:"fields"`
	Rows   []replayedRow   `json:"rows"`
}

type replayedField struct {
	Name   string       `json:"name"`
	DType  tensor.DType `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	SHA256 string       `json:"sha256"` // of its bytes
}

type replayedRow struct {
	Row      int            `json:"row"` // several samples may be packed into one
	Source   string         `json:"source"`
	Index    int64          `json:"index"`
	Output   []int64        `json:"output"`
	Key      recipe.Path    `json:"key"`
	Position int64          `json:"position"`
	Epoch    int            `json:"epoch"`
	Draws    []replayedDraw `json:"draws"`
	Replaced *replacedRow   `json:"replaced,omitempty"`
}

type replayedDraw struct {
	Step   string         `json:"step"`
	Values map[string]any `json:"values"`
}

type replacedRow struct {
	Index  int64       `json:"index"`
	Output []int64     `json:"output"`
	Key    recipe.Path `json:"key"`
	Stage  string      `json:"stage"`
	Error  string      `json:"error"`
}

func newReplayed(b *headrace.Batch, fields []headrace.Field) replayed {
	r := replayed{Epoch: b.Epoch(), Step: b.Step(), Fields: []replayedField{}}
	for _, f := range fields {
		if t, ok := b.Tensor(f.Name); ok {
			r.Fields = append(r.Fields, replayedField{f.Name, t.DType, t.Shape, fmt.Sprintf("%x", sha256.Sum256(t.Data))})
			continue
		}
		if rows := b.Ragged(f.Name); rows != nil {
			// Rows differ in size, so the digest is that of one after the other.
			h := sha256.New()
			for _, row := range rows {
				h.Write(row.Data)
			}
			shape := append(tensor.Shape{len(rows)}, f.Shape...)
			r.Fields = append(r.Fields, replayedField{f.Name, f.DType, shape, fmt.Sprintf("%x", h.Sum(nil))})
		}
	}

	for i, o := range b.Origins() {
		row := replayedRow{Row: i, Source: o.ID.Source, Index: o.ID.Index, Output: o.ID.Output.Numbers(),
			Key: recipe.Path(o.Key), Position: o.ID.Pos, Epoch: o.ID.Epoch, Draws: []replayedDraw{}}
		for _, d := range o.Draws {
			row.Draws = append(row.Draws, replayedDraw(d))
		}
		if l := o.Replaced; l != nil {
			row.Replaced = &replacedRow{l.ID.Index, l.ID.Output.Numbers(), recipe.Path(l.Key), l.Stage, l.Err.Error()}
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func (r replayed) print(w io.Writer) error {
	fmt.Fprintf(w, "Epoch %d, batch %d, %s\n\n", r.Epoch, r.Step, words.Plural(int64(len(r.Rows)), "sample"))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Fields {
		fmt.Fprintf(table, "%s\t%v %v\tsha256 %s\n", f.Name, f.DType, f.Shape, f.SHA256)
	}
	fmt.Fprintln(table, "\nrow\tsource\tindex\tposition\tkey\tdraws")
	for _, row := range r.Rows {
		var draws []string
		for _, d := range row.Draws {
			draws = append(draws, d.Step+" "+shownDraws(d.Values))
		}
		if row.Replaced != nil {
			draws = append(draws, fmt.Sprintf("instead of %s (index %s)", row.Replaced.Key,
				numbered(row.Replaced.Index, row.Replaced.Output)))
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\n", row.Row, row.Source, numbered(row.Index, row.Output),
			row.Position, row.Key, strings.Join(draws, "; "))
	}
	return table.Flush()
}

// numbered is the index of a sample, and which of those that were made of it: "17",
// "17, output 3".
func numbered(index int64, output []int64) string {
	text := strconv.FormatInt(index, 10)
	if len(output) > 0 {
		text += ", output " + string(sample.Numbered(output...))
	}
	return text
}

func shownDraws(values map[string]any) string {
	var shown []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		shown = append(shown, fmt.Sprintf("%s=%v", name, values[name]))
	}
	return strings.Join(shown, " ")
}
