import type { HttpContext } from '../../../../http/context.ts'

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // Nothing has such an id.
  }
}

export const idIn = ({ path }: HttpContext, pattern: RegExp): string => decode(pattern.exec(path)?.[1] ?? '')
