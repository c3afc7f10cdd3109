// The compiled half of Boost.Asio and Boost.Beast, which other files then need not compile again.

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
