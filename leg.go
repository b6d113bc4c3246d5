package headrace

import (
	"context"

	"headrace/internal/record"
	"headrace/media"
)

// leg is as many parts of a recipe as can be foreseen at once: up to the next picture that is decoded from bytes which are not there yet. Before its
// first part a sample waits for the bytes that all of them take. An operation cannot wait for them itself, since others wait for it to be over.
type leg struct {
	work  *work
	probe record.Column // of the bytes from which its picture is decoded; nowhere: no part decodes
	parts []part
}

// reserve waits for what the parts take.
func (g *leg) reserve(ctx context.Context, it *record.Record) (err error) {
	if g.probe.Kind == record.Bytes {
		// A bad header is the decoder's to report, so that statistics blame the stage in which people look.
		it.Header, it.HeaderErr = media.Probe(it.Values.Bytes[g.probe.At])
	}
	before := it.Working
	it.Working, err = it.Source.Lane.Acquire(ctx, g.work.age(it.ID), forDecoder, g.most(it))
	before.Release()
	return err
}

// most is what the parts take at most, one at a time: the pictures that are stored, and what the part needs besides.
func (g *leg) most(it *record.Record) (most int64) {
	t := g.work.tool(it)
	defer g.work.tools.Put(t)
	for i := range t.forms {
		t.forms[i] = it.Values.Images[i].Form()
	}
	for _, p := range g.parts {
		stored := int64(0)
		for _, f := range t.forms {
			if f.Height > 0 {
				stored += record.StoredBytes(f)
			}
		}
		most = max(most, stored+p.foresee(it, t))
	}
	return most
}
