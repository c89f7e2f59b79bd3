/** Which counters of one writer were seen: all up to `low`, and those in `above`. */
export interface FrameWindow {
  low: number
  readonly above: Set<number>
}

export const initialFrameWindow = (): FrameWindow => ({ low: 0, above: new Set() })

export const admitFrame = (window: FrameWindow, counter: number): boolean => {
  if (counter <= window.low || window.above.has(counter)) return false
  window.above.add(counter)
  while (window.above.delete(window.low + 1)) window.low += 1
  return true
}
