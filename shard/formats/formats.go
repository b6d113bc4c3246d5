// Package formats registers all formats of shards, so that shard.Open and the operation
// read know them.
//
// A program imports it for that alone; one that needs few formats registers these itself,
// and links no more.
package formats

import (
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/arrayrecord"
	"github.com/headrace/headrace/shard/arrowipc"
	"github.com/headrace/headrace/shard/lines"
	"github.com/headrace/headrace/shard/litdata"
	"github.com/headrace/headrace/shard/mds"
	"github.com/headrace/headrace/shard/megatron"
	"github.com/headrace/headrace/shard/npy"
	"github.com/headrace/headrace/shard/parquet"
	"github.com/headrace/headrace/shard/tarfile"
	"github.com/headrace/headrace/shard/tfrecord"
	"github.com/headrace/headrace/shard/zipfile"
)

func init() {
	shard.Register(tarfile.Format)
	shard.Register(tfrecord.Format{})
	shard.Register(npy.Format{})
	shard.Register(zipfile.Format{})
	shard.Register(megatron.Format{})
	shard.Register(arrayrecord.Format{})
	shard.RegisterSet(mds.Opener{})
	shard.RegisterSet(litdata.Opener{})
	shard.Register(parquet.Format{})
	shard.Register(arrowipc.Format{})
	shard.Register(lines.JSONL{})
	shard.Register(lines.CSV{})
	shard.Register(lines.Text{})
}
