package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/words"
)

// indexBar shows people how far it is, on a terminal.
type indexBar struct {
	w         io.Writer
	done, all int
	drawn     time.Time
}

func (b *indexBar) step() {
	b.done++
	if !isTerminal(b.w) || time.Since(b.drawn) < time.Second/10 && b.done < b.all {
		return
	}
	b.drawn = time.Now()
	f := b.w.(*os.File)
	tail := fmt.Sprintf("  %s/%s", words.Thousands(int64(b.done)), words.Thousands(int64(b.all)))
	size := min(40, terminalWidth(f)-1-len("indexing  ")-len(tail))
	if size < 8 {
		fmt.Fprint(b.w, clearLine+strings.TrimSpace(tail))
		return
	}
	fmt.Fprint(b.w, clearLine+"indexing  "+drawnBar(size*b.done/b.all, size, colours(f))+tail)
}

// scanned shows how many shards are done.
func (b *indexBar) scanned(done, all int) {
	b.done, b.all = done-1, all
	b.step()
}

func (b *indexBar) line(text string) {
	b.clear()
	fmt.Fprintln(b.w, text)
}

func (b *indexBar) clear() {
	if isTerminal(b.w) {
		fmt.Fprint(b.w, clearLine)
	}
}

const clearLine = "\r\x1b[K"
