package coded

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
)

func init() { sound.RegisterGraphs(openGraph) }

// graph is a graph of FFmpeg's filters for floats.
type graph struct {
	*ffmpeg.Graph
	in  ffmpeg.Port
	at  int64
	raw []byte // the last output
}

func openGraph(text string, in sound.Info) (sound.Graph, error) {
	if err := ffmpeg.OpensNoFiles(ffmpeg.OfGraph, "", text); err != nil {
		return nil, fmt.Errorf("%w; headrace.io.filter and stream_filter with files=True allow that", err)
	}
	port := ffmpeg.Port{Label: "in", Format: "flt", Audio: true, Rate: in.Rate, Channels: in.Channels,
		TimeBase: av.Rational{Num: 1, Den: int32(in.Rate)}}
	if bits.OnesCount32(in.Mask) == in.Channels {
		port.Layout = uint64(in.Mask)
	}
	g, err := ffmpeg.NewGraph(text, []ffmpeg.Port{port}, "", "flt")
	if errors.Is(err, media.ErrCorrupt) {
		_, why, _ := strings.Cut(err.Error(), "FFmpeg: ") // which is not about the file
		err = fmt.Errorf("%w: the filter %q: %s", media.ErrUnsupported, text, why)
	}
	if err != nil {
		return nil, err
	}
	if out := g.Outputs; len(out) != 1 || !out[0].Audio {
		g.Close()
		return nil, fmt.Errorf("%w: the filter %q must have one output, of audio: headrace.io.filter and stream_filter give any",
			media.ErrUnsupported, text)
	}
	return &graph{Graph: g, in: port}, nil
}

// Rate implements [sound.Graph].
func (g *graph) Rate() int { return g.Outputs[0].Rate }

// Channels implements [sound.Graph].
func (g *graph) Channels() int { return g.Outputs[0].Channels }

// Push implements [sound.Graph].
func (g *graph) Push(samples []float32) error {
	n := len(samples) / g.in.Channels
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(samples))), 4*len(samples))
	err := g.Graph.Push(0, &g.in, raw, n, g.at)
	g.at += int64(n)
	return err
}

// End implements [sound.Graph].
func (g *graph) End() error { return g.Graph.End(0, ffmpeg.Untimed) }

// Pull implements [sound.Graph].
func (g *graph) Pull(b []float32) ([]float32, error) {
	_, err := g.Graph.Pull(0)
	if errors.Is(err, ffmpeg.ErrNeeds) {
		return b, sound.ErrGraphNeeds
	}
	if err == nil {
		g.raw, err = g.Raw(g.raw[:0])
	}
	if err != nil { // io.EOF, too
		return b, err
	}
	if len(g.raw) == 0 {
		return b, nil
	}
	return append(b, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(g.raw))), len(g.raw)/4)...), nil
}
