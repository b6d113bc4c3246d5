package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

// isMedia reports whether a name is that of a video or of a recording.
func isMedia(name string) bool {
	suffix := strings.ToLower(filepath.Ext(name))
	return slices.Contains(video.Suffixes(), suffix) || slices.Contains(sound.Suffixes(), suffix)
}

// inspectMedia tells what videos and recordings say of themselves.
func inspectMedia(ctx context.Context, paths []string, asJSON bool, w io.Writer) error {
	var all []inspectedSample
	var errs []error
	for _, path := range paths {
		s := inspectedSample{Key: recipe.Path(path)}
		if err := s.lookAtMedia(ctx, path); err != nil {
			s.Error = err.Error()
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
		all = append(all, s)
	}
	if asJSON {
		return errors.Join(append(errs, printJSON(w, all))...)
	}

	p := newPage(w)
	for _, s := range all {
		p.line("", p.bold, visible(string(s.Key)))
		if s.Error == "" {
			p.line("  ", plainInk, s.facts())
		}
	}
	_, err := io.WriteString(w, p.text.String())
	return errors.Join(append(errs, err)...)
}

// lookAtMedia looks at a video or, where that has none, at a recording.
func (s *inspectedSample) lookAtMedia(ctx context.Context, path string) error {
	name, err := absolute(path)
	if err != nil {
		return err
	}
	if slices.Contains(video.Suffixes(), strings.ToLower(filepath.Ext(path))) && s.lookAtVideo(ctx, name) {
		return nil
	}
	data, err := store.Read(ctx, name, 0)
	if err != nil {
		return err
	}
	stream, err := sound.Open(data, -1)
	if err != nil {
		return err
	}
	defer stream.Close()
	i := stream.Info()
	s.Bytes, s.Live = int64(len(data)), whole.IsLive(data)
	s.Audio = &inspectedAudio{i.Rate, i.Channels, i.Samples, float64(i.Samples) / float64(i.Rate)}
	return nil
}

// absolute is filepath.Abs of a name that may be in a store.
func absolute(name string) (string, error) {
	if _, _, ok := store.Scheme(name); ok {
		return name, nil
	}
	return filepath.Abs(name)
}

// facts are what people want to know of a recording.
func (a *inspectedAudio) facts() string {
	return fmt.Sprintf("%s in %.2f s, %d a second, %s", words.Plural(a.Samples, "sample"),
		a.Duration, a.Rate, words.Plural(int64(a.Channels), "channel"))
}
