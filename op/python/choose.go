package python

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Chooser is a function or an object of Python that says which source of a mix is next.
// One worker has it, with an object for each lane.
type Chooser struct {
	mix   string
	names []string
	pool  *extern.Pool
}

// The worker is asked a choosing, and answers a chosen. Turns count samples of the mix
// over all epochs.
type (
	choosing struct {
		Epoch int             `json:"epoch"`
		Lane  int             `json:"lane"`
		Turns []int64         `json:"turns"`
		Names []string        `json:"names"`
		Said  json.RawMessage `json:"said,omitempty"`
	}
	chosen struct {
		Sources []int           `json:"sources"`
		Says    json.RawMessage `json:"says"`
	}
)

// NewChooser opens the workers of the function that chooses among the sources of a mix.
func NewChooser(w *core.Env, mix, function string, names []string) (*Chooser, error) {
	text := func(name string) sample.Schema { return sample.Schema{{Name: name, Type: sample.TextType}} }
	o := extern.Options{Kind: extern.Choose, In: text("asked"), To: []string{"answer"}, Gives: text("answer")}
	c := &Chooser{mix: mix, names: names}

	var err error
	call := &recipe.Python{Function: function, Fields: []string{"asked"}, Workers: new(1)}
	c.pool, _, err = HostOf(w).Open(mix+" choose", call, o, nil)
	return c, err
}

// Choose returns the sources of some turns of a lane, and the state to go on from after
// them. Said is the state after the turns before; "": an epoch begins.
func (c *Chooser) Choose(ctx context.Context, epoch, lane int, turns []int64, said string) (sources []int, says string, err error) {
	asked, err := json.Marshal(choosing{epoch, lane, turns, c.names, json.RawMessage(said)})
	if err != nil {
		return nil, "", err
	}
	call := &extern.Call{ID: sample.ID{Source: c.mix, Epoch: epoch, Index: turns[0]}, Key: c.mix,
		In: []extern.Value{{Kind: sample.Text, Text: string(asked)}}}
	if err := c.pool.Call(ctx, call); err != nil {
		return nil, "", fmt.Errorf("choose of %s, turn %d: %w", c.mix, turns[0], err)
	}
	var answer chosen
	if err := json.Unmarshal([]byte(call.Out[0].Text), &answer); err != nil {
		return nil, "", fmt.Errorf("choose of %s: an answer that cannot be read: %w", c.mix, err)
	}
	return answer.Sources, string(answer.Says), nil
}
