import { asObject, asText, parseJson } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { sandboxLimits } from '../answers/limits.ts'
import { lastAsked, sendJson } from '../http/control.ts'
import { type Handler, readBody } from '../http/exchange.ts'
import { stateOf } from './answers.ts'
import type { VideoRecord } from './records.ts'
import type { VideoVendorSandbox } from './vendor.ts'

export interface SandboxVideo {
  readonly externalTaskId: string | null
  /** Of the tasks created, in their order: one, unless `not_unique` allows more. */
  readonly vendorTaskIds: readonly string[]
  /** Submits received, whatever their result. */
  readonly submits: number
  readonly queries: number
  /** The vendor's current status; null where no task was created. */
  readonly status: string | null
  /** By the price list; null where no task was created. */
  readonly units: string | null
}

export interface SandboxVideoTotals {
  readonly submits: number
  readonly made: number
  readonly queries: number
  readonly lists: number
  readonly open: number
  readonly callbacksAsked: number
  /** Calls of the vendor's API that came within one second, at most. */
  readonly callsPerSecondMax: number
}

export interface SandboxVideos {
  totals(): SandboxVideoTotals
  all(): readonly SandboxVideo[]
  find(id: string): SandboxVideo | undefined
  /** Replaces the directives for every later task and call; '' removes them. Throws Refusal. */
  direct(directives: string): void
  /** Ends a task now, as its directives and these define; false where there is none. Throws Refusal. */
  end(id: string, directives?: string): boolean
}

const videoOf = ({ externalId, tasks, submits, queries }: VideoRecord, nowMs: number): SandboxVideo => {
  const [task] = tasks
  return {
    externalTaskId: externalId,
    vendorTaskIds: tasks.map(({ id }) => id),
    submits,
    queries,
    status: task === undefined ? null : stateOf(task, nowMs),
    units: task?.units ?? null,
  }
}

export const videosOf = (vendor: VideoVendorSandbox, clock: () => number): SandboxVideos => {
  const { records, pace } = vendor
  return {
    totals: () => ({
      ...records.counts,
      open: records.tasks().filter(({ endsMs }) => clock() < endsMs).length,
      callsPerSecondMax: pace.most,
    }),
    all: () => records.all().map((record) => videoOf(record, clock())),
    find: (id) => {
      const record = records.find(id)
      return record === undefined ? undefined : videoOf(record, clock())
    },
    direct: (directives) => vendor.direct(directives),
    end: (id, directives = '') => vendor.end(id, directives),
  }
}

const nothing = { error: { message: 'There is no such task.' } }

const idIn = (url: string): string => decodeURIComponent(/^\/sandbox\/videos\/([^/?]+)/.exec(url)?.[1] ?? '')

/** `GET /sandbox/videos?last=<n>`: the last external ids submitted, oldest first. */
export const showVideos =
  (videos: SandboxVideos): Handler =>
  (request, response) =>
    sendJson(response, 200, videos.all().slice(-lastAsked(request.url, sandboxLimits.sandboxVideosShownMax)))

export const showVideoTotals =
  (videos: SandboxVideos): Handler =>
  (_request, response) =>
    sendJson(response, 200, videos.totals())

/** `GET /sandbox/videos/<id>`, by the external id or the vendor's. */
export const showVideo =
  (videos: SandboxVideos): Handler =>
  (request, response) => {
    const video = videos.find(idIn(request.url ?? '/'))
    sendJson(response, video === undefined ? 404 : 200, video ?? nothing)
  }

const directivesIn = (text: string): string => asText(asObject(parseJson(text))['directives'])

const obey =
  (act: (directives: string, url: string) => boolean): Handler =>
  async (request, response) => {
    const received = await readBody(request)
    if (typeof received === 'string') return void response.destroy()
    try {
      const isDone = act(directivesIn(received.text), request.url ?? '/')
      sendJson(response, isDone ? 200 : 404, isDone ? {} : nothing)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendJson(response, 400, { error: { message: error.message } })
    }
  }

export const directVideos = (videos: SandboxVideos): Handler =>
  obey((directives) => {
    videos.direct(directives)
    return true
  })

export const endVideo = (videos: SandboxVideos): Handler => obey((directives, url) => videos.end(idIn(url), directives))
