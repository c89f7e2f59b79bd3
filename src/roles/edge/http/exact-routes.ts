import type { Router } from '@koa/router'
import type { HttpContext, HttpMiddleware, HttpState } from '../../../http/context.ts'

type Stack = readonly HttpMiddleware[]

type RoutedContext = HttpContext & { _matchedRoute?: string | RegExp; params?: Readonly<Record<string, string>> }

const noParameters = {}

interface ExactRoute {
  readonly path: string
  readonly stack: Stack
}

const runFrom = (stack: Stack, at: number, ctx: HttpContext, last: () => Promise<void>): Promise<void> =>
  at === stack.length ? last() : (stack[at]!(ctx, () => runFrom(stack, at + 1, ctx, last)) as Promise<void>)

const isExact = (path: string | RegExp): path is string => typeof path === 'string' && /^[\w/.-]+$/.test(path)

/**
 * The routes without parameters, found by method and path as they are written. For each request a router compares the path
 * with all of its routes, and puts the middleware of the one that matches together; it still finds every other spelling.
 */
export const serveExact = (routers: readonly Router<HttpState, object>[]): HttpMiddleware => {
  const routes = new Map<string, ExactRoute>()
  for (const router of routers)
    for (const { path, methods, stack } of router.stack) {
      if (!isExact(path)) continue
      for (const method of methods) {
        const first = routers.flatMap((each) => each.match(path, method).pathAndMethod)[0]
        if (first?.stack === stack) routes.set(`${method} ${path}`, { path, stack: stack as unknown as Stack })
      }
    }
  return (ctx: RoutedContext, next) => {
    const route = routes.get(`${ctx.method} ${ctx.path}`)
    if (route === undefined) return next()
    ctx._matchedRoute = route.path
    ctx.params = noParameters
    return runFrom(route.stack, 0, ctx, next)
  }
}
