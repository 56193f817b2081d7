/**
 * Polls the application while the page is visible.
 *
 * Promise: only the answer to the last request counts, a page in the background asks nothing, and
 * after a failure, which is shown in words, polling goes on.
 */
const TIMEOUT_MS = 10_000;

/** The page may have any path prefix, with or without a slash at its end. */
const HERE = location.pathname.replace(/^\/+/, '/').replace(/\/*$/, '/');

class Refused extends Error {}

export async function ask<Answer>(
  what: string,
  parameters: Readonly<Record<string, string | undefined>> = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const given = Object.entries(parameters).filter((entry) => entry[1] !== undefined);
  const query = String(new URLSearchParams(given as [string, string][]));
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(HERE + what + (query && `?${query}`), {
    headers: { accept: 'application/json' },
    // A redirect to a login page means that the session has ended.
    redirect: 'manual',
    signal: signal === undefined ? limit : anyOf(signal, limit),
  });
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  if (!response.ok || !isJson) throw new Refused(refusalOf(response));
  return (await response.json()) as Answer;
}

/** Asks now and again `everyMs` after each answer; calling the result asks at once. */
export function askOften<Answer>(
  everyMs: number,
  question: () => Promise<Answer>,
  onAnswer: (answer: Answer) => void,
  onFault: (text: string) => void,
): () => Promise<void> {
  let timer: number | undefined;
  let turn = 0;
  const next = async () => {
    clearTimeout(timer);
    const own = ++turn;
    const show = await question().then(
      (answer) => () => onAnswer(answer),
      (error: unknown) => () => onFault(faultText(error)),
    );
    if (own !== turn) return;
    if (!document.hidden) timer = window.setTimeout(() => void next(), everyMs);
    show();
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else void next();
  });
  return next;
}

function refusalOf({ ok, status, type }: Response): string {
  if (type === 'opaqueredirect' || ok) return 'You are signed out. Sign in and reload this page.';
  if (status === 401 || status === 403) {
    return `You may no longer see this page (${status}). Sign in and reload it.`;
  }
  return `The application answered ${status}.`;
}

export function faultText(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return `The application did not answer within ${TIMEOUT_MS / 1000} s.`;
  }
  return 'The application does not answer.';
}

/** Some browsers that this page supports lack AbortSignal.any. */
function anyOf(...signals: readonly AbortSignal[]): AbortSignal {
  const either = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) either.abort(signal.reason);
    signal.addEventListener('abort', () => either.abort(signal.reason), { once: true });
  }
  return either.signal;
}
