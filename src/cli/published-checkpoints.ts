import { parseManifest } from '../adapters/archive/manifest.ts'
import type { PublishedCheckpoint } from '../audit/published-checkpoints.ts'
import { cliLimits } from './command-limits.ts'
import { readNamedFile } from './public-keys.ts'

/** A file is one signed note, or the manifest of an archive. Throws UsageError where it cannot be read. */
export const readPublishedCheckpoints = (file: string): readonly PublishedCheckpoint[] => {
  const text = readNamedFile(file, cliLimits.publishedCheckpointsBytesMax)
  if (!text.trimStart().startsWith('{')) return [{ note: text, place: file }]
  const { segments } = parseManifest(text, file)
  return segments.map((segment) => ({ note: segment.checkpoint, place: `${file} (${segment.file})` }))
}
