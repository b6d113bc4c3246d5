//go:build !cgo

package ffmpeg

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/media"
)

func TestWithoutC(t *testing.T) {
	if _, err := Library(); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
	_, decoder := NewDecoder(Stream{Codec: "h264"})
	_, reader := NewReader(nil)
	_, bitstream := NewBitstream("null", nil)
	_, graph := NewGraph("null", nil, "", "")
	_, encoder := NewEncoder(Encoding{Codec: "ffv1"})
	_, takes := EncoderTakes("ffv1")
	_, writer := NewWriter(nil, "mp4")
	_, format := FormatOf("x.mp4")
	_, file := Demux(nil)
	_, opened := DemuxFile(nil)
	for i, err := range []error{decoder, reader, bitstream, graph, encoder, takes, writer, format, file, opened} {
		if !errors.Is(err, media.ErrUnsupported) {
			t.Error(i, err)
		}
	}
}
