package joint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/headrace/headrace/shard"
)

// ReadJSON reads the file that names the shards of a set.
func ReadJSON(ctx context.Context, f shard.File, into any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text := make([]byte, f.Size())
	if n, err := f.ReadAt(text, 0); n < len(text) {
		if err == io.EOF || err == nil {
			return shard.Wrong(f, int64(n), shard.ErrTruncated, "the file ends while it is read")
		}
		return &shard.Error{Shard: f.Name(), At: int64(n), Err: err}
	}

	err := json.Unmarshal(text, into)
	var form *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &form):
		return shard.Wrong(f, form.Offset, shard.ErrCorrupt, "%v", err)
	case errors.As(err, &kind):
		return shard.Wrong(f, kind.Offset, shard.ErrCorrupt, "%v", err)
	case err != nil:
		return shard.Wrong(f, -1, shard.ErrCorrupt, "%v", err)
	}
	return nil
}

// Names finds shards by what the paths of their files end in.
type Names struct {
	all   []string
	place map[string]int
}

// Add adds a name. One that is absolute, that leads out of the folder, or that is there
// already, is an error.
func (n *Names) Add(f shard.File, name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, `\`) {
		return shard.Wrong(f, -1, shard.ErrCorrupt, "%q is not the name of a shard", name)
	}
	if n.place == nil {
		n.place = map[string]int{}
	}
	if _, twice := n.place[name]; twice {
		return shard.Wrong(f, -1, shard.ErrCorrupt, "two shards have the name %q", name)
	}
	n.place[name] = len(n.all)
	n.all = append(n.all, name)
	return nil
}

// All are the names in the order in which they were added.
func (n *Names) All() []string { return n.all }

// Find returns the place of the shard whose name is the longest that the path of f ends
// in.
func (n *Names) Find(f shard.File) (int, error) {
	for name := f.Name(); ; {
		if i, ok := n.place[name]; ok {
			return i, nil
		}
		_, rest, more := strings.Cut(name, "/")
		if !more {
			return 0, shard.Wrong(f, -1, shard.ErrCorrupt, "the set has no shard of this name")
		}
		name = rest
	}
}
