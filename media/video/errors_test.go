//go:build cgo

package video_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// What is wrong with a video is said of a video, whichever package finds it, and can be
// told apart as with images.
func TestErrorsSpeakOfVideos(t *testing.T) {
	avtest.Library(t)
	front := testvideo.Read(t, "front.mp4")
	for name, c := range map[string]struct {
		data []byte
		is   error
		says string
	}{
		"empty":       {nil, media.ErrTruncated, "media: truncated video: the file is empty"},
		"sound alone": {testvideo.Read(t, "alac.m4a"), media.ErrUnsupported, "media: unsupported video: the file has no video: it has sound alone"},
		"text":        {[]byte("no video, but words"), media.ErrCorrupt, "media: corrupt video: FFmpeg: "},
		"AVI":         {testvideo.Read(t, "avc.avi"), media.ErrUnsupported, "media: unsupported video: AVI stores no display times"},
		"cut":         {front[:len(front)*6/10], media.ErrTruncated, "media: truncated video: "},
		"no index":    {testvideo.Read(t, "bpyr.mp4")[:2000], media.ErrCorrupt, "media: corrupt video: mp4: "},
	} {
		err := lastFrame(t, c.data)
		if !errors.Is(err, c.is) || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "image") {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Packets with noise are corrupt for the decoder.
	data := append([]byte(nil), front...)
	for i := len(data) / 2; i < len(data); i += 50 {
		data[i] ^= 0x55
	}
	if err := lastFrame(t, data); !errors.Is(err, media.ErrCorrupt) || !strings.Contains(err.Error(), "video: ") || strings.Contains(err.Error(), "image") {
		t.Errorf("noise: %v", err)
	}
}

func lastFrame(t *testing.T, data []byte) error {
	v, err := video.Open(video.Bytes(data), -1)
	if err != nil {
		return err
	}
	c, err := v.Clip([]int{v.Table.Line.Len() - 1})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Decode(t.Context(), func(int, *video.Frame) error { return nil })
}

func TestFramesThatAreNotThere(t *testing.T) {
	v := open(t, testvideo.File(t, "bpyr.mp4"))
	for _, n := range []int{-2, 50, 1 << 40} {
		if _, err := v.Clip([]int{0, n}); err == nil || !strings.Contains(err.Error(), "the video has 50 frames") {
			t.Errorf("frame %d: %v", n, err)
		}
	}
}

// An error about reading stays what it is.
func TestErrorsOfReadingStay(t *testing.T) {
	if _, err := video.Open(unreadable{}, -1); err != errUnreadable {
		t.Errorf("%v", err)
	}
}

var errUnreadable = errors.New("the disk says no")

type unreadable struct{}

func (unreadable) Size() int64                       { return 1 << 20 }
func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errUnreadable }

var _ io.ReaderAt = unreadable{}
