// @ts-check

/**
 * Reads server-sent events out of text that comes in pieces.
 *
 * @param {(name: string, data: string) => void} onEvent
 * @returns {(piece: string) => void}
 */
export const eventReader = (onEvent) => {
  let rest = ''
  /** @param {string} block */
  const read = (block) => {
    let name = 'message'
    const data = []
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) name = line.slice('event: '.length)
      else if (line.startsWith('data: ')) data.push(line.slice('data: '.length))
    }
    if (data.length > 0) onEvent(name, data.join('\n'))
  }
  return (piece) => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) read(block)
  }
}
