package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/video/index"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

func readsVideo(r recipe.Recipe) bool {
	for _, s := range r.All() {
		if recipe.TraitsOf(s.Args).Content == "video" {
			return true
		}
	}
	return false
}

// lookAtVideo adds what a video says of itself, without reading more than its index. It
// reports whether it is one.
func (s *inspectedSample) lookAtVideo(ctx context.Context, path string) bool {
	file, err := store.Open(ctx, path, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	v, err := video.Open(index.Of(file, file.Name(), nil), -1)
	if err != nil {
		return false
	}
	t, line := v.Table, &v.Table.Line
	s.Bytes, s.Format, s.Width, s.Height = file.Size(), v.Format, v.Stream.Width, v.Stream.Height
	s.Orientation = int(max(v.Stream.Orientation, av.Upright))
	i := &inspectedVideo{Codec: v.Stream.Codec, Frames: line.Len(), Duration: line.Seconds(line.End), FPS: line.FPS()}
	for n := range line.Len() {
		if t.Packets[t.Frames[n]].Key {
			i.KeyFrames++
		}
		for _, r := range t.Runs([]int{n}) {
			i.Decodes += float64(r.Last+1-r.First) / float64(line.Len())
		}
	}
	for _, of := range v.Streams {
		i.Streams = append(i.Streams, strings.TrimSpace(of.Kind.String()+" "+of.Codec))
	}
	s.Video, s.Live = i, v.Live
	return true
}

// facts are what people want to know of a video, besides its size.
func (v *inspectedVideo) facts() []string {
	all := []string{
		v.Codec, fmt.Sprintf("%s in %.2f s, %.4g a second", words.Plural(int64(v.Frames), "frame"), v.Duration, v.FPS),
		fmt.Sprintf("%s, so a frame takes %.3g packets", words.Plural(int64(v.KeyFrames), "key frame"), v.Decodes),
	}
	if len(v.Streams) > 1 {
		all = append(all, "streams "+strings.Join(v.Streams, ", "))
	}
	return all
}
