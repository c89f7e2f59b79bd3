import type { ServerResponse } from 'node:http'
import { asObject, asText, parseJson } from '../../src/encoding/json.ts'
import { type Handler, readBody } from '../exchange.ts'
import { Refusal } from '../faults.ts'
import { sandboxLimits } from '../limits.ts'
import { stateOf } from './answers.ts'
import type { VideoRecord } from './records.ts'
import type { VideoVendorSandbox } from './vendor.ts'

/** What was tried and made under one external id. */
export interface SandboxVideo {
  readonly externalTaskId: string | null
  /** Of the tasks really made, in their order: one, unless `not_unique` let more be. */
  readonly vendorTaskIds: readonly string[]
  /** Submits that were tried, whatever came of them. */
  readonly submits: number
  readonly queries: number
  /** The vendor's word now; null where none was made. */
  readonly status: string | null
  /** What it costs by the price list; null where none was made. */
  readonly units: string | null
}

export interface SandboxVideoTotals {
  readonly submits: number
  /** Tasks really made. */
  readonly made: number
  readonly queries: number
  readonly lists: number
  /** Tasks that have not ended. */
  readonly open: number
  /** Submits that carried a callback address. */
  readonly callbacksAsked: number
  /** Calls of the vendor's API that came within one second, at most. */
  readonly callsPerSecondMax: number
}

/** The sandbox vendor as a test sees it. */
export interface SandboxVideos {
  totals(): SandboxVideoTotals
  /** Oldest first. */
  all(): readonly SandboxVideo[]
  /** By the external id or the vendor's; undefined where nobody has tried. */
  find(id: string): SandboxVideo | undefined
  /** Directives, as in prompts, for every task and call to come, in place of those laid before; '' lays none. Throws Refusal. */
  direct(directives: string): void
  /** Ends a task now, as its directives and these say; false where there is none. Throws Refusal. */
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

const send = (response: ServerResponse, status: number, value: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

const nothing = { error: { message: 'There is no such task.' } }

const idIn = (url: string): string => decodeURIComponent(/^\/sandbox\/videos\/([^/?]+)/.exec(url)?.[1] ?? '')

/** `GET /sandbox/videos?last=<n>`: the last external ids that were tried, oldest first. */
export const showVideos =
  (videos: SandboxVideos): Handler =>
  (request, response) => {
    const asked = Number(new URL(request.url ?? '/', 'http://sandbox').searchParams.get('last'))
    const last = Number.isInteger(asked) && asked > 0 ? asked : sandboxLimits.sandboxVideosShownMax
    send(response, 200, videos.all().slice(-last))
  }

/** `GET /sandbox/videos/totals` */
export const showVideoTotals =
  (videos: SandboxVideos): Handler =>
  (_request, response) =>
    send(response, 200, videos.totals())

/** `GET /sandbox/videos/<id>`, by the external id or the vendor's. */
export const showVideo =
  (videos: SandboxVideos): Handler =>
  (request, response) => {
    const video = videos.find(idIn(request.url ?? '/'))
    send(response, video === undefined ? 404 : 200, video ?? nothing)
  }

const directivesIn = (text: string): string => asText(asObject(parseJson(text))['directives'])

/** Does what the posted `{"directives": "[[…]]"}` say. */
const obey =
  (act: (directives: string, url: string) => boolean): Handler =>
  async (request, response) => {
    const received = await readBody(request)
    if (typeof received === 'string') return void response.destroy()
    try {
      const isDone = act(directivesIn(received.text), request.url ?? '/')
      send(response, isDone ? 200 : 404, isDone ? {} : nothing)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      send(response, 400, { error: { message: error.message } })
    }
  }

/** `POST /sandbox/videos/directives` */
export const directVideos = (videos: SandboxVideos): Handler =>
  obey((directives) => {
    videos.direct(directives)
    return true
  })

/** `POST /sandbox/videos/<id>/end` */
export const endVideo = (videos: SandboxVideos): Handler => obey((directives, url) => videos.end(idIn(url), directives))
