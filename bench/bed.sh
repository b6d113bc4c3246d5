#!/usr/bin/env bash
# Prepares what the contestants need, as far as it is missing: the pictures, our
# programs, the other loaders.
#
#   BED=FOLDER bench/bed.sh      (default: build/bed; about 8 GB, most of it PyTorch, of which uv keeps one copy, and TensorFlow)
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
BED="${BED:-$ROOT/build/bed}"

contestant() {
	local folder="$BED/$1"
	shift
	[ -x "$folder/bin/python" ] && return
	say "installing $*"
	"$VENV/bin/uv" venv -q --python "$PYTHON" "$folder"
	"$VENV/bin/uv" pip install -q --compile-bytecode --python "$folder/bin/python" "$@"
}

mkdir -p "$BED" build/bench
"$PYTHON" bench/data.py "$BED"
gcc -O3 -march=native -Wall -Wextra -Werror -o build/bench/limit bench/limit.c -ljpeg -lpthread -lm
go build -o build/bench/decode ./bench/decode
go build -o build/bench/engine ./bench/engine
go build -o build/bench/items ./bench/items
contestant venv-spdl spdl spdl-io numpy simplejpeg opencv-python-headless
contestant venv-grain grain numpy simplejpeg opencv-python-headless
contestant venv-tf tensorflow-cpu
contestant venv-torch torch torchvision pillow numpy
contestant venv-training torch torchvision spdl spdl-io numpy simplejpeg opencv-python-headless pillow
# All that takes part in claims.py, and what Headrace itself needs.
contestant venv-claims torch torchvision spdl spdl-io numpy simplejpeg opencv-python-headless pillow cloudpickle isal tiktoken tokenizers
