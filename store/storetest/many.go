package storetest

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/store"
)

// Many is a store with any number of objects, which take no memory and cannot be read. It
// lists them as services do.
type Many struct {
	Total   int
	Name    func(i int) string // in the order of their bytes
	Pause   time.Duration      // before each page
	IsLoose bool               // it lists in no order, and from no name on

	pages atomic.Int64
}

// Pages returns the number of pages that were listed so far.
func (m *Many) Pages() int { return int(m.pages.Load()) }

const page = 1000

// Objects implements [store.Store].
func (m *Many) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return m.ObjectsAfter(ctx, prefix, "")
}

// ObjectsAfter implements [store.Ranged].
func (m *Many) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		begin := 0
		if !m.IsLoose {
			begin = sort.Search(m.Total, func(i int) bool { n := m.Name(i); return n > after && n >= prefix })
		}
		for n := 0; ; n++ {
			i := begin + n
			isEnd := i >= m.Total || !m.IsLoose && !strings.HasPrefix(m.Name(i), prefix)
			if n%page == 0 || isEnd && n == 0 {
				m.pages.Add(1)
				select {
				case <-time.After(m.Pause):
				case <-ctx.Done():
					yield(store.Object{}, ctx.Err())
					return
				}
			}
			if isEnd {
				return
			}
			if m.IsLoose {
				i = int(int64(i) * 7919 % int64(m.Total)) // which shares no divisor with it
			}
			if o := m.object(i); strings.HasPrefix(o.Name, prefix) && !yield(o, nil) {
				return
			}
		}
	}
}

func (m *Many) object(i int) store.Object {
	return store.Object{Name: m.Name(i), Size: int64(100 + i%1000), Version: strconv.Itoa(i * 2654435761 % (1 << 32))}
}

// Stat implements [store.Store].
func (m *Many) Stat(_ context.Context, name string) (store.Object, error) {
	i := sort.Search(m.Total, func(i int) bool { return m.Name(i) >= name })
	if i < m.Total && m.Name(i) == name {
		return m.object(i), nil
	}
	return store.Object{}, fs.ErrNotExist
}

// ReadAt implements [store.Store]: it fails.
func (*Many) ReadAt(context.Context, store.Object, []byte, int64) error {
	return errors.ErrUnsupported
}
