package recipe

// The operations that there are without anybody registering any. This is the only place
// that names all of them.
func init() {
	registry.ops = []Op{
		filesOp, readOp, sourceOp, mergeOp, shuffleOp, samplerOp, weightedOp, routeOp, decodeImageOp, decodeNPYOp, decodeAudioOp, logMelOp, decodeVideoOp, videoClipsOp, mapOp, filterOp, flatMapOp, aggregateOp,
		selectOp, dropOp, renameOp, copyOp, boxesOp,
		resizeOp, resizeToBucketOp, centerCropOp, randomCropOp, randomResizedCropOp, padOp,
		randomFlipOp, randomVerticalFlipOp, rotate90Op, randomRotate90Op,
		colorJitterOp, grayscaleOp, randomGrayscaleOp, normalizeOp, layoutOp,
		batchOp, bucketBatchOp, packOp, unbatchOp,
	}
}
