package sound

import (
	"context"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/store"
)

// audioFile is the file of a recording that is opened by its path.
type audioFile struct {
	store.File
	env  *core.Env
	args *DecodeAudio
	data *[]byte // all of it, where its format is not read in parts; nil: it is
	read int64   // bytes so far
}

// ReadAt implements [sound.File].
func (f *audioFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.read += int64(n)
	return n, err
}

// open opens the recording in it.
func (f *audioFile) open(o sound.Options) (sound.Stream, error) {
	if f.data != nil {
		return sound.OpenWith(*f.data, o)
	}
	return sound.OpenAt(f, o)
}

// Load implements [record.Opened]. The rest is read by those who decode.
func (f *audioFile) Load() (int64, error) { return f.read, nil }

// Close implements [record.Opened].
func (f *audioFile) Close() {
	if f.data != nil {
		f.env.Files.Give(f.data)
		f.data = nil
	}
	f.File.Close()
}

// Open implements [recipe.Opener].
func (p *ReadAudio) Open(ctx context.Context, it *record.Record) error {
	it.Shut()
	var lacks error // bytes: the run ends
	it.HeaderErr = machine.Patiently(ctx, func() error {
		file, err := p.Env.OpenNamed(ctx, it, it.Values.Texts[p.From.At])
		if err != nil {
			return err
		}
		f := &audioFile{File: file, env: p.Env, args: p.Args}
		if p.Args.Raw().Format != "" { // any part of it can be read
			it.Opened = f
			return nil
		}
		if lacks, err = f.begin(ctx, it); err != nil || lacks != nil {
			f.Close()
			return err
		}
		it.Opened = f
		return nil
	})
	return lacks
}

// begin reads the file, unless it is read in parts. It waits for the bytes that this
// takes.
func (f *audioFile) begin(ctx context.Context, it *record.Record) (lacks, err error) {
	if parts, err := sound.InParts(f, f.args.Choice()); parts || err != nil {
		return nil, err
	}

	held := it.Content
	lane, of := it.Lane()
	it.Content, err = lane.Acquire(ctx, f.env.Age(of), core.ForFiles, f.Size())
	held.Release()
	if err != nil {
		return err, nil
	}
	f.data = f.env.Files.Take(0)
	for _, most := range []int64{sound.MostHead, f.Size()} { // what is no recording is not read to its end
		f.env.Files.Grow(f.data, len(*f.data)+f.Room(len(*f.data), most))
		all, _, err := f.ReadOn(*f.data, most)
		if err != nil {
			return nil, err
		}
		f.env.Files.Moved(f.data, all)
		if err := sound.Check(all); err != nil {
			return nil, err
		}
	}
	f.read = int64(len(*f.data))
	return nil, nil
}
