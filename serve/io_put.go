package serve

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/wire"
)

func init() {
	handleAV(map[string]handler{"get": {nil, 1, (*ioSession).get}, "put": {nil, 1, (*ioSession).put}})
}

// get returns the bytes of an object of a store, which clients cannot read themselves.
func (s *ioSession) get(ctx context.Context) (*result, error) {
	in := s.input(0)
	if in.path == "" {
		return nil, fmt.Errorf("%w: bytes that the client has", wire.ErrProtocol)
	}
	defer in.forget()
	if err := in.start(ctx, s.task.most()); err != nil {
		return nil, err
	}
	grant, err := s.engine.memory.ask(ctx, in.size)
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	if _, err := in.readOn(math.MaxInt64); err != nil {
		return nil, err
	}
	return s.bytesResult(ctx, *in.data)
}

// put writes the bytes in the inbox to an object of a store, which clients cannot do
// themselves.
func (s *ioSession) put(ctx context.Context) (*result, error) {
	in := s.input(0)
	if in.path != "" {
		return nil, fmt.Errorf("%w: bytes in a file", wire.ErrProtocol)
	}
	w, name, err := store.WriterOf(s.task.av().To)
	if err != nil {
		return nil, err
	}
	grant, err := s.engine.memory.ask(ctx, int64(in.place.Length))
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	defer in.forget()
	if err := in.readArray(); err != nil {
		return nil, err
	}
	if _, err := w.Put(ctx, name, bytes.NewReader(*in.data), int64(len(*in.data)), store.Condition{}); err != nil {
		return nil, fmt.Errorf("store: write %q: %w", store.Shown(s.task.av().To), err)
	}
	return s.jsonResult(ctx, struct{}{})
}
