package shard

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/headrace/headrace/store"
)

// version is that of a shard.
type version struct {
	store.Object
	beside string // that of the file beside it which says where its samples are; "": there is none
}

func (v version) String() string {
	if v.beside == "" {
		return v.Version
	}
	return v.Version + "+" + v.beside
}

// versions looks at all shards, and says which are missing.
func (d *Dataset) versions(ctx context.Context, o Options) ([]version, error) {
	described := map[string]string{} // by the files that name shards
	for _, s := range d.shards {
		if s.by != "" && described[s.by] == "" {
			described[s.by] = versionBeside(ctx, s.in, s.by)
		}
	}

	all := make([]version, len(d.shards))
	wrong := make([]error, len(d.shards))
	err := each(ctx, len(d.shards), o.Jobs, 64, func(i int) error {
		s := &d.shards[i]
		all[i].Object, wrong[i] = s.in.Stat(ctx, s.path)
		if wrong[i] != nil && !s.isLocal() {
			wrong[i] = fmt.Errorf("%s: %w", s.key, wrong[i])
		}
		all[i].beside = described[s.by]
		format := cmp.Or(named(o.Format), bySuffix(s.path))
		if a, ok := format.(Accompanied); ok && s.by == "" {
			all[i].beside = versionBeside(ctx, s.in, path.Join(path.Dir(s.path), a.Companion(path.Base(s.path))))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	wrong = slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
	switch len(wrong) {
	case 0:
		return all, nil
	case 1:
		return nil, wrong[0]
	}
	return nil, fmt.Errorf("%w (and so are %d of %d shards)", wrong[0], len(wrong), len(d.shards))
}

// versionBeside is that of a file beside shards. That it is missing is said when shards
// are scanned.
func versionBeside(ctx context.Context, in store.Store, name string) string {
	o, err := in.Stat(ctx, name)
	if err != nil {
		return "missing"
	}
	return fmt.Sprint(o.Size, "-", o.Version)
}

// same tells whether a shard is as it was when it was indexed, and what is beside it.
func same(size int64, was string, now version) bool {
	return size == now.Size && was == now.String()
}

// sameFile is same of the shard alone, while a run goes on: to give a file another mode,
// or one more name, does not end it.
func (d *Dataset) sameFile(i int, now store.Object) bool {
	was, is := d.index.Shards[i].Version, now.Version
	was, _, _ = strings.Cut(was, "+")
	if d.shards[i].isLocal() {
		was, is = store.Written(was), store.Written(is)
	}
	return d.index.Shards[i].Size == now.Size && was == is
}
