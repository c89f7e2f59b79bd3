/** What a chat client of the bench asks the mock upstream's answer to be like. */
import { chunksPerStream, wholeText } from './content.ts'

/** Of an answer: its text where it comes whole, its chunks and the least time between them where it is streamed. */
export interface Shape {
  readonly characters: number
  readonly chunks: number
  readonly everyMs: number
}

export const ordinaryShape: Shape = { characters: wholeText.length, chunks: chunksPerStream, everyMs: 0 }

const shapeMember = 'bench_shape'
const shapePattern = new RegExp(`"${shapeMember}":"(\\d+)/(\\d+)/(\\d+)"`)
const shapeCharactersMax = 64

/** The metadata by which a request asks for a shape; the gateway passes it on untouched. */
export const metadataOf = ({ characters, chunks, everyMs }: Shape): object => ({
  [shapeMember]: `${characters}/${chunks}/${everyMs}`,
})

/** What a request's body asks for, found without parsing it: a mock must not cost what it measures. */
export const shapeAskedBy = (body: Buffer): Shape => {
  const at = body.lastIndexOf(`"${shapeMember}":`)
  const asked = at < 0 ? null : shapePattern.exec(body.toString('latin1', at, at + shapeCharactersMax))
  if (asked === null) return ordinaryShape
  const [characters, chunks, everyMs] = asked.slice(1).map(Number)
  return { characters: characters!, chunks: chunks!, everyMs: everyMs! }
}
