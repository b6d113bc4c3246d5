// Package formats registers all formats of shards, so that shard.Open and the operation
// read know them.
//
// A program imports it for that alone; one that needs few formats registers these itself,
// and links no more.
package formats

import (
	"headrace/shard"
	"headrace/shard/arrayrecord"
	"headrace/shard/arrowipc"
	"headrace/shard/lines"
	"headrace/shard/litdata"
	"headrace/shard/mds"
	"headrace/shard/megatron"
	"headrace/shard/npy"
	"headrace/shard/parquet"
	"headrace/shard/tarfile"
	"headrace/shard/tfrecord"
	"headrace/shard/zipfile"
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
