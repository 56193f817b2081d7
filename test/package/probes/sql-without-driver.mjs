// Asks for a worker id by URLs of databases where no driver is installed, and prints the errors.
import { supportFromUrl } from 'nestjs-snowflake/sql';

const REQUEST = { token: 'one', workerIdMin: 0, workerIdMax: 1023 };

const said = {};
for (const url of ['postgres://localhost/shop', 'mysql://localhost/shop']) {
  const error = await supportFromUrl(url)
    .getNextWorkId(REQUEST)
    .catch((e) => e);
  said[url] = `${error.code} ${/npm install \S+/.exec(error.message)?.[0]}`;
}
console.log(JSON.stringify(said));
