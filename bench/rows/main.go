// Command rows reads rows of a shard at random, and says what one costs.
//
//	rows -fields image.bytes FILE
//
// For each number of rows on standard input it reads that many, and prints a line of
// JSON: microseconds of CPU a row, and how many bytes were read for how many that were
// used. The first line says what the index cost. Unpacked blocks are not kept.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	fields := flag.String("fields", "", "what is read of a row, separated by commas")
	flag.Parse()
	began := cpu()
	d, err := shard.Open(ctx, flag.Args(), shard.Options{Blocks: 1})
	if err != nil {
		return err
	}
	defer d.Close()

	var columns []shard.Column
	for name := range strings.SplitSeq(*fields, ",") {
		columns = append(columns, shard.Column{From: name})
	}
	r, err := d.Select(ctx, columns...)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]float64{"rows": float64(d.Len()), "index_us": (cpu() - began) / float64(d.Len())}); err != nil {
		return err
	}

	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			return err
		}
		began := cpu()
		read, used, err := rows(ctx, d, r, n)
		if err != nil {
			return err
		}
		took := map[string]float64{"us": (cpu() - began) / float64(n), "read": float64(read), "used": float64(used)}
		if err := out.Encode(took); err != nil {
			return err
		}
	}
	return nil
}

// rows reads n rows, and says how many bytes that took, and how many were asked for.
func rows(ctx context.Context, d *shard.Dataset, r *shard.Reader, n int) (read, used int64, err error) {
	var p shard.Place
	var buf []byte
	for range n {
		if err := r.Locate(rand.Int64N(d.Len()), &p); err != nil {
			return 0, 0, err
		}
		buf = slices.Grow(buf[:0], int(p.Bytes))[:p.Bytes]
		_, k, err := r.Read(ctx, &p, buf)
		if err != nil {
			return 0, 0, err
		}
		read += k
		used += p.Bytes
	}
	return read, used, nil
}

// cpu is the CPU time of the process so far, in microseconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}
