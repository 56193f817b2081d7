// Starts with URLs of databases where no driver is installed, and prints the errors.
import 'reflect-metadata';
import { startSnowflake } from 'nestjs-snowflake';

const said = {};
for (const support of ['postgres://localhost/shop', 'mysql://localhost/shop']) {
  const error = await startSnowflake({ support }).catch((e) => e);
  said[support] = `${error.code} ${/npm install \S+/.exec(error.message)?.[0]}`;
}
console.log(JSON.stringify(said));
